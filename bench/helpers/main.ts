/**
 * `npm run measure:helpers`: a training that waits for its data, on one host and with two helper hosts, each host with
 * the same share of this machine (`training/measure/lockstep.py`), beside placement's forecast and AWS's own figures.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { environmentPython } from '../../cli/recipes/environments.ts';
import { lastJsonLine, runProgram } from '../../cli/recipes/program.ts';
import { writeTable } from '../../cli/recipes/results-page.ts';
import { type Cell, type Run, runSchema, tableOf } from './table.ts';

const HELP = `npm run measure:helpers [-- OPTIONS]
  --rounds N  runs of each row (3)
  --steps N   steps measured in each run (60)
  --write     put the table into docs/strategies.md
In .venv-tf, which is made on demand; a run takes half a minute and more on a busy machine.`;

const count = z.string().regex(/^[1-9]\d{0,3}$/, 'give a number from 1 to 9999');
const spec = {
  options: {
    rounds: { type: 'string', default: '3' },
    steps: { type: 'string', default: '60' },
    write: { type: 'boolean', default: false },
  },
  schema: z.object({ rounds: count, steps: count, write: z.boolean() }),
} as const;

const root = path.resolve(import.meta.dirname, '..', '..');
const MEASURE = path.join(root, 'training', 'measure', 'measure_helpers.py');
const RUN_SECONDS = 2400;
/** Seconds of an accelerator's step: an eighth of what a host needs to prepare it, and more than a half. */
const [FAST, SLOW] = ['0.05', '0.25'];
const ROWS = [
  ['--accelerator-seconds', FAST, '--helpers', '0'],
  ['--accelerator-seconds', FAST, '--helpers', '2'],
  ['--accelerator-seconds', FAST, '--helpers', '2', '--prepare-here'],
  ['--accelerator-seconds', SLOW, '--helpers', '0'],
  ['--accelerator-seconds', SLOW, '--helpers', '2', '--prepare-here'],
] as const;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function measure(python: string, args: readonly string[]): Promise<Run> {
  const own = path.join(root, '.venv', 'bin', 'python');
  const { code, output } = await runProgram(own, [MEASURE, '--python', python, ...args], {
    seconds: RUN_SECONDS,
  });
  const line = lastJsonLine(output);
  if (code !== 0 || line === undefined) throw new Error(`${args.join(' ')} ended with ${code}:\n${output}`);
  return runSchema.parse(JSON.parse(line));
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, spec);
  const python = await environmentPython(root, 'tf', print);
  const folder = mkdtempSync(path.join(tmpdir(), 'tw-images-'));
  const started = new Date();
  const cells: Run[][] = ROWS.map(() => []);
  try {
    const more = ['--steps', values.steps, '--data', path.join(folder, 'images')];
    for (let round = 1; round <= Number(values.rounds); round += 1) {
      // Row by row within a round: what else the machine does meets all rows alike.
      for (const [index, row] of ROWS.entries()) {
        const run = await measure(python, [...row, ...more]);
        cells[index]?.push(run);
        print(`round ${round}, ${row.join(' ')}: ${run.step_seconds} s a step`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const table = `${tableOf(cells)}\n\n${circumstances(cells, started)}`;
  print(`\n${table}`);
  if (values.write) writeTable(path.join(root, 'docs', 'strategies.md'), table, 'helpers');
  return 0;
}

/** What the figures were measured beside. */
function circumstances(cells: readonly Cell[], started: Date): string {
  const runs = cells.flat();
  const [, , load = 0] = loadavg();
  const longest = Math.max(...runs.map(({ slowdown }) => slowdown));
  return (
    `${cells[0]?.length ?? 0} runs of each, about ${runs[0]?.steps ?? 0} steps, ${started.toISOString().slice(0, 10)}, ` +
    `${availableParallelism()} cores, load over the last 15 min ${load.toFixed(1)};\n` +
    `a second of the hosts' clock took up to ${longest.toFixed(1)} s.`
  );
}

await runCommand(HELP, main);
