/** Drops in a row, really trained: on from the model before, beside from nothing on all. */

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import { pythonTools } from '../../test/support/python-tools.ts';

const ROOT = path.join(import.meta.dirname, '../..');
/** With the number of seeds, whose mean counts: one held-out sample of a table is 0.6 points, and of text none. */
const TASKS = [
  ['table', 20],
  ['digits', 3],
  ['language', 1],
] as const;

const way = z.object({ scores: z.array(z.number()), seconds: z.array(z.number()) });
const playedSchema = z.object({ nothing: way, new: way, replay: way });
type Played = z.infer<typeof playedSchema>;
type Way = keyof Played;

interface Summary {
  /** Of the last model, in points of a hundred: the mean over the seeds. */
  readonly points: Readonly<Record<Way, number>>;
  /** CPU seconds of the last training. */
  readonly seconds: Readonly<Record<Way, number>>;
  /** After each drop without replay, the share of held-out samples that it gets right. */
  readonly forgetting: readonly number[];
  readonly replayed: readonly number[];
}

const WAYS = ['nothing', 'replay', 'new'] as const;

export async function playDrops(drops: number, seed: number): Promise<Record<string, Summary>> {
  const below = path.join(ROOT, '.venv/bin/python');
  const file = path.join(import.meta.dirname, 'requirements.txt');
  const python = path.join(await pythonTools({ name: 'promotion', file, below }), 'bin/python');
  const summaries: Record<string, Summary> = {};
  for (const [task, seeds] of TASKS) {
    const script = path.join(import.meta.dirname, 'drops.py');
    const numbers = ['--drops', String(drops), '--seed', String(seed), '--seeds', String(seeds)];
    const { stdout } = await promisify(execFile)(python, ['-W', 'ignore', script, task, ...numbers], {
      env: { ...process.env, OMP_NUM_THREADS: '1' },
      maxBuffer: 2 ** 24,
    });
    summaries[task] = summaryOf(playedSchema.array().parse(parseJson(stdout)));
    print(task, summaries[task]);
  }
  return summaries;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

function summaryOf(played: readonly Played[]): Summary {
  const each = (of: (one: Played[Way]) => number): Record<Way, number> => {
    const over = (name: Way): number => mean(played.map((one) => of(one[name])));
    return { nothing: over('nothing'), new: over('new'), replay: over('replay') };
  };
  const curve = (name: Way): number[] =>
    (played[0]?.[name].scores ?? []).map((_, drop) =>
      mean(played.map((one) => 100 * (one[name].scores[drop] ?? 0))),
    );
  return {
    points: each(({ scores }) => 100 * (scores.at(-1) ?? 0)),
    seconds: each(({ seconds }) => seconds.at(-1) ?? 0),
    forgetting: curve('new'),
    replayed: curve('replay'),
  };
}

function print(task: string, { points, seconds, forgetting, replayed }: Summary): void {
  console.log([task.padEnd(10), 'points', 'CPU seconds'].join('\t'));
  const share = (name: Way): string =>
    `${seconds[name].toFixed(2)} (${((100 * seconds[name]) / seconds.nothing).toFixed(0)} %)`;
  for (const name of WAYS) console.log([name.padEnd(10), points[name].toFixed(2), share(name)].join('\t'));
  const shown = (curve: readonly number[]): string => curve.map((value) => value.toFixed(0)).join(' ');
  console.log(
    `after each drop, new alone: ${shown(forgetting)}\nafter each drop, replay:    ${shown(replayed)}\n`,
  );
}
