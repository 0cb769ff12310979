/** The table of `npm run recipes`. */
import * as z from 'zod';

/** What `training/measure` prints of one recipe. */
export const rowSchema = z.object({
  name: z.string(),
  recipe: z.string(),
  strategy: z.string(),
  hosts: z.number().int(),
  world_size: z.number().int(),
  steps_before: z.number().int(),
  steps_after: z.number().int(),
  metric: z.string(),
  undisturbed: z.number(),
  interrupted: z.number(),
  same: z.string(),
  is_within: z.boolean(),
  seconds: z.number(),
  cpu_seconds: z.number(),
});
export type Row = z.infer<typeof rowSchema>;

const HEAD = [
  'strategy',
  'recipe',
  'hosts',
  'world size',
  'steps before + after',
  'metric, undisturbed / interrupted',
  'same result',
  'seconds',
  'CPU seconds',
];

export function recipeTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.strategy,
    row.recipe,
    String(row.hosts),
    String(row.world_size),
    `${row.steps_before} + ${row.steps_after}`,
    `${row.metric} ${row.undisturbed.toFixed(4)} / ${row.interrupted.toFixed(4)}`,
    row.is_within ? row.same : `NO: ${row.same}`,
    row.seconds.toFixed(0),
    row.cpu_seconds.toFixed(0),
  ]);
  return markdownTable(HEAD, cells);
}

/** A table in Markdown, with its columns aligned so that it reads as well in a terminal. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
