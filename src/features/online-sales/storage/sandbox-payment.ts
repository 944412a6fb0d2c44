/** The payments of a sandbox at its own provider. */

import type { SandboxPayment } from '../domain/sandbox-payment.ts';
import { columns, integer, text, type RowOf } from '../../../database/sql/columns.ts';
import { forUpdate } from '../../../database/sql/fragments.ts';
import { all, execute, first, sql, type Script } from '../../../database/sql/sql.ts';

const payments = columns({
  store_id: integer('storeId'),
  id: text('id'),
  content: text('content'),
});

/** Amounts are bigints, which JSON does not have. */
function textOf({ storeId: _storeId, id: _id, ...content }: SandboxPayment): string {
  return JSON.stringify(content, (_name, value: unknown) =>
    typeof value === 'bigint' ? { bigint: String(value) } : value,
  );
}

function read({ storeId, id, content }: { storeId: number; id: string; content: string }): SandboxPayment {
  const parsed: unknown = JSON.parse(content, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && 'bigint' in value ? BigInt(String(value.bigint)) : value,
  );
  return { storeId, id, ...(parsed as Omit<SandboxPayment, 'storeId' | 'id'>) };
}

type SandboxKey = Pick<SandboxPayment, 'storeId' | 'id'>;

export function* findSandboxPayment({ storeId, id }: SandboxKey): Script<SandboxPayment | undefined> {
  const row = yield* first(sql<RowOf<typeof payments>>`
    select ${payments.names} from sandbox_payments where store_id = ${storeId} and id = ${id}`);
  return row && read(payments.read(row));
}

/** Inserts a payment, unless its session exists. */
export function* insertSandboxPayment(payment: SandboxPayment): Script<void> {
  const { storeId, id } = payment;
  const record = { storeId, id, content: textOf(payment) };
  yield* execute(sql`
    insert into sandbox_payments (${payments.names}) values (${payments.values(record)})
    on conflict (store_id, id) do nothing`);
}

/**
 * Changes a payment under its lock. @param change returns undefined to change nothing.
 * @returns the payment after it; undefined: there is none, or it was not changed.
 */
export function* changeSandboxPayment(
  { storeId, id }: SandboxKey,
  change: (payment: SandboxPayment) => SandboxPayment | undefined,
): Script<SandboxPayment | undefined> {
  const row = yield* first(sql<RowOf<typeof payments>>`
    select ${payments.names} from sandbox_payments where store_id = ${storeId} and id = ${id} ${forUpdate}`);
  const changed = row && change(read(payments.read(row)));
  if (!changed) return undefined;
  yield* execute(sql`
    update sandbox_payments set content = ${textOf(changed)}
    where store_id = ${storeId} and id = ${id}`);
  return changed;
}

/** The payments of a store in the order of their ids. */
export function* listSandboxPayments(
  storeId: number,
  { after, limit }: { readonly after: string; readonly limit: number },
): Script<readonly SandboxPayment[]> {
  const rows = yield* all(sql<RowOf<typeof payments>>`
    select ${payments.names} from sandbox_payments
    where store_id = ${storeId} and id > ${after} order by id limit ${limit}`);
  return rows.map((row) => read(payments.read(row)));
}
