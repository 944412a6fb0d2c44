/** The records of stocks in the API. */

import { formatInstant, formatInstantOrNull } from '../../../core/domain/day.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import type { StockRecord } from '../../batches/domain/batch-schemas.ts';
import { leftOf, type CountedStock } from '../../../core/stocks/domain/stock.ts';

/** @param now from when on the codes cannot be read, even if they are not erased yet (ms). */
export function stockRecordOf(counted: CountedStock, now: number): StockRecord {
  const { stock, counts } = counted;
  const { codesUntil } = stock;
  return {
    id: stock.id,
    name: stock.name,
    state: stock.state,
    count: stock.codes,
    printed: stock.printed,
    sold: counts.sold,
    left: leftOf(counted),
    voided: counts.voided,
    failed: stock.failed,
    currency: stock.currency,
    fixed_value: stock.fixedValue && formatMoney(stock.fixedValue),
    minimum_value: stock.minimumValue && formatMoney(stock.minimumValue),
    maximum_value: stock.maximumValue && formatMoney(stock.maximumValue),
    valid_months: stock.validMonths,
    created_at: formatInstant(stock.createdAt),
    completed_at: formatInstantOrNull(stock.completedAt),
    codes_until: codesUntil === null || codesUntil <= now ? null : formatInstant(codesUntil),
  };
}
