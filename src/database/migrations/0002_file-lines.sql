-- The lines of the file in which the cards of a part begin, between commas; null: the batch has no file.
alter table batch_parts add column file_lines text;
