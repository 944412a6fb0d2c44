/**
 * Whether every level of a statement names one store, as a database that is divided by store needs it: Citus sends such
 * a statement to one server, and any other to all of them.
 *
 * A level is a select, insert, update or delete without the selects in it. It *binds* a table if its own conditions
 * compare `store_id` with a parameter, directly or through another table of the same level. A condition that names a
 * table of an outer level does not count: Citus then runs the statement on every shard.
 */

import assert from 'node:assert/strict';
import { loadModule, parseSync } from 'libpg-query';

await loadModule();

/** A node of the parser: `{SelectStmt: {…}}`, or the fields of a node. */
type Node = { readonly [field: string]: unknown };

/** A table in the from clause of a level. */
type Named = { readonly table: string; readonly name: string };

type Divided = (table: string) => boolean;

/** Returns the tables, by level, that no store is named for. */
export function unboundTables(text: string, isDivided: Divided): readonly string[] {
  const { stmts } = parseSync(text) as { stmts: readonly { readonly stmt: Node }[] };
  const [statement, ...others] = stmts;
  assert(statement && others.length === 0, `one statement is expected: ${text}`);
  return unboundIn(statement.stmt, { isDivided, hidden: new Set() });
}

/** Whether a statement changes or locks rows. */
export function changesRows(text: string): boolean {
  const { stmts } = parseSync(text) as { stmts: readonly { readonly stmt: Node }[] };
  return contains(
    stmts,
    (node) => 'InsertStmt' in node || 'UpdateStmt' in node || 'DeleteStmt' in node || 'LockingClause' in node,
  );
}

type Scope = {
  readonly isDivided: Divided;
  /** Names of `with` queries, which are not tables. */
  readonly hidden: ReadonlySet<string>;
};

const levels = ['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt'] as const;

function levelIn(node: Node): { readonly kind: (typeof levels)[number]; readonly level: Node } | undefined {
  for (const kind of levels) if (kind in node) return { kind, level: node[kind] as Node };
  return undefined;
}

function unboundIn(value: unknown, scope: Scope): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((each) => unboundIn(each, scope));
  if (!isNode(value)) return [];
  const found = levelIn(value);
  if (!found) return Object.values(value).flatMap((each) => unboundIn(each, scope));
  return unboundOfLevel(found.kind, found.level, scope);
}

function unboundOfLevel(kind: (typeof levels)[number], level: Node, outer: Scope): readonly string[] {
  const queries = listOf((level['withClause'] as Node | undefined)?.['ctes']).map(
    (each) => (each as { CommonTableExpr: Node }).CommonTableExpr,
  );
  const scope = {
    ...outer,
    hidden: new Set([...outer.hidden, ...queries.map((query) => String(query['ctename']))]),
  };
  // The two sides of a union are levels of their own, without the name of their node.
  const sides = [level['larg'], level['rarg']].filter(isNode);
  const ofSides = sides.flatMap((side) => unboundOfLevel('SelectStmt', side, scope));
  const { larg: _left, rarg: _right, ...own } = level;
  const inner = unboundIn(Object.values(own), scope);
  if (kind === 'InsertStmt') {
    const target = tableOf(level['relation'] as Node);
    const columns = listOf(level['cols']).map((each) => (each as { ResTarget: Node }).ResTarget['name']);
    const isNamed = !scope.isDivided(target.table) || columns.includes('store_id');
    return [...inner, ...(isNamed ? [] : [target.table])];
  }
  const named: Named[] = [];
  const conditions: unknown[] = [level['whereClause']];
  if (kind !== 'SelectStmt') named.push(tableOf(level['relation'] as Node));
  for (const item of [...listOf(level['fromClause']), ...listOf(level['usingClause'])])
    readFrom(item as Node, named, conditions);
  const divided = named.filter(({ table }) => !scope.hidden.has(table) && scope.isDivided(table));
  return [...ofSides, ...inner, ...unboundNames(divided, conditions).map(({ table }) => table)];
}

/** Adds the tables of a from clause and the conditions of its joins. Selects in it are levels of their own. */
function readFrom(item: Node, named: Named[], conditions: unknown[]): void {
  if ('RangeVar' in item) named.push(tableOf(item['RangeVar'] as Node));
  if (!('JoinExpr' in item)) return;
  const join = item['JoinExpr'] as Node;
  readFrom(join['larg'] as Node, named, conditions);
  readFrom(join['rarg'] as Node, named, conditions);
  conditions.push(join['quals']);
}

function tableOf(range: Node): Named {
  const alias = range['alias'] as { readonly aliasname: string } | undefined;
  const table = range['relname'] as string;
  return { table, name: alias?.aliasname ?? table };
}

/** Returns the tables of a level whose store is not known from its conditions. */
function unboundNames(tables: readonly Named[], conditions: readonly unknown[]): readonly Named[] {
  const bound = new Set<string>();
  const equalities = conditions.flatMap(equalitiesOf);
  for (let before = -1; before < bound.size;) {
    before = bound.size;
    for (const [left, right] of equalities) {
      for (const [one, other] of [
        [left, right],
        [right, left],
      ] as const) {
        const store = storeOf(one, tables);
        if (store === undefined) continue;
        const source = storeOf(other, tables);
        if (isGiven(other) || (source !== undefined && bound.has(source))) bound.add(store);
      }
    }
  }
  return tables.filter(({ name }) => !bound.has(name));
}

/** Pairs of expressions that the conditions of a level make equal. */
function equalitiesOf(condition: unknown): readonly (readonly [unknown, unknown])[] {
  if (!isNode(condition)) return [];
  const all = condition['BoolExpr'] as Node | undefined;
  if (all) return all['boolop'] === 'AND_EXPR' ? listOf(all['args']).flatMap(equalitiesOf) : [];
  const comparison = condition['A_Expr'] as Node | undefined;
  if (!comparison || comparison['kind'] !== 'AEXPR_OP') return [];
  const [operator] = listOf(comparison['name']) as readonly { String: Node }[];
  if (operator?.String['sval'] !== '=') return [];
  const [left, right] = [comparison['lexpr'], comparison['rexpr']];
  const rows = [left, right].map((side) =>
    isNode(side) && 'RowExpr' in side ? listOf((side['RowExpr'] as Node)['args']) : undefined,
  );
  const [ofLeft, ofRight] = rows;
  return ofLeft && ofRight ? ofLeft.map((each, place) => [each, ofRight[place]] as const) : [[left, right]];
}

/** The name of the table of this level whose `store_id` an expression is. */
function storeOf(expression: unknown, tables: readonly Named[]): string | undefined {
  if (!isNode(expression) || !('ColumnRef' in expression)) return undefined;
  const fields = listOf((expression['ColumnRef'] as Node)['fields']).map(
    (field) => (field as { String?: Node }).String?.['sval'],
  );
  if (fields.at(-1) !== 'store_id') return undefined;
  if (fields.length === 1) return tables.length === 1 ? tables[0]?.name : undefined;
  return tables.find(({ name }) => name === fields[0])?.name;
}

/** Whether an expression is a parameter or a constant. */
function isGiven(expression: unknown): boolean {
  if (!isNode(expression)) return false;
  if ('ParamRef' in expression || 'A_Const' in expression) return true;
  return 'TypeCast' in expression && isGiven((expression['TypeCast'] as Node)['arg']);
}

function contains(value: unknown, matches: (node: Node) => boolean): boolean {
  if (Array.isArray(value)) return value.some((each) => contains(each, matches));
  return isNode(value) && (matches(value) || Object.values(value).some((each) => contains(each, matches)));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
