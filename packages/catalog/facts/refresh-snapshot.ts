/**
 * Renews the snapshot's tables of hardware by what EC2 answered. What an answer leaves out stays, and an answer that is not
 * believed changes nothing. A type without a row gets none: a row needs a price, which EC2 does not say.
 */

import type { InstanceFacts } from './catalog.ts';
import { readAnswer } from './hardware.ts';
import { answerOf } from './instance-type-answer.ts';

type Cell = string | number | boolean | null;

/** `data/instances.json` */
export interface InstanceTable {
  readonly source: string;
  readonly asOf: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** `data/efa.json`: types by their number of interfaces. */
export interface EfaTable {
  readonly source: string;
  readonly types: Readonly<Record<string, string>>;
  readonly firstCard: Readonly<Record<string, number>>;
}

interface Snapshot {
  readonly instances: InstanceTable;
  readonly efa: EfaTable;
}

export function refreshSnapshot(
  { instances, efa }: Snapshot,
  entries: readonly unknown[],
  { source, asOf }: { readonly source: string; readonly asOf: string },
): Snapshot & { readonly changes: readonly string[] } {
  const readings = entries.map((entry) => readAnswer(entry));
  const changes = readings.flatMap((each) =>
    each.kind === 'refused' ? [`${each.type}: not believed, ${each.why}`] : [],
  );
  const rows = instances.rows.map((row) => {
    const found = readings.find((each) => each.kind === 'facts' && each.facts.type === row[0]);
    if (found?.kind !== 'facts') return row;
    const renewed = instances.columns.map((name) => cellOf(found.facts, name));
    const changed = instances.columns.filter((_, index) => renewed[index] !== row[index]);
    changes.push(
      ...changed.map(
        (name) => `${found.facts.type}: ${name} ${was(row, name, instances)} -> ${cellOf(found.facts, name)}`,
      ),
    );
    return renewed;
  });
  const counted = refreshEfa(efa, entries, source);
  return {
    instances: {
      ...instances,
      rows,
      ...(rows.some((row, index) => row !== instances.rows[index]) && {
        source: `${source}; before: ${instances.source}`,
        asOf,
      }),
    },
    efa: counted.efa,
    changes: [...changes, ...counted.changes],
  };
}

const was = (row: readonly Cell[], name: string, { columns }: InstanceTable): Cell | undefined =>
  row[columns.indexOf(name)];

const cellOf = (facts: InstanceFacts, name: string): Cell => {
  const value: unknown = Reflect.get(facts, name);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
};

function refreshEfa(efa: EfaTable, entries: readonly unknown[], source: string) {
  const known = new Map(
    Object.entries(efa.types).flatMap(([count, types]) =>
      types.split(' ').map((type) => [type, Number(count)] as const),
    ),
  );
  const firstCard = { ...efa.firstCard };
  const changes: string[] = [];
  for (const entry of entries) {
    const answer = answerOf(entry);
    if (answer.kind === 'unreadable' || answer.facts.efaInterfaces === undefined) continue;
    const {
      type,
      facts: { efaInterfaces, firstEfaCard },
    } = answer;
    if (known.get(type) === efaInterfaces && firstCard[type] === firstEfaCard) continue;
    changes.push(`${type}: ${known.get(type) ?? 'no'} EFA interfaces -> ${efaInterfaces}`);
    known.set(type, efaInterfaces);
    if (firstEfaCard !== undefined) firstCard[type] = firstEfaCard;
  }
  if (changes.length === 0) return { efa, changes };
  const counts = [...new Set(known.values())].sort((a, b) => a - b);
  const types = Object.fromEntries(
    counts.map((count) => [
      count,
      [...known].flatMap(([type, one]) => (one === count ? [type] : [])).join(' '),
    ]),
  );
  return { efa: { ...efa, source: `${source}; before: ${efa.source}`, types, firstCard }, changes };
}

/** One row a line. */
export function instanceTableText({ rows, ...head }: InstanceTable): string {
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`);
  const { columns, ...notes } = head;
  const fields = Object.entries(notes).map(
    ([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  return `{\n${fields.join('\n')}\n  "columns": [${columns.map((name) => JSON.stringify(name)).join(', ')}],\n  "rows": [\n${lines.join(',\n')}\n  ]\n}\n`;
}
