/** npm run bench:promotion: how often a model replaces the one in use that should not, or does not that should. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Judgement, judge } from '@tidewheel/judging/judge.ts';
import type { ScoreTable } from '@tidewheel/judging/scores.ts';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import * as z from 'zod';
import { markdownTable } from '../../cli/recipes/table.ts';
import {
  angleOf,
  type Draw,
  type Drawn,
  drawSamples,
  fit,
  METRICS,
  type Metric,
  marginOf,
  normalDraws,
  scoreOf,
  tilted,
  trueScore,
  turned,
  type Weights,
} from './classifiers.ts';
import { playDrops } from './drops.ts';
import { playStreams } from './streams.ts';

const USAGE = `npm run bench:promotion -- [OPTIONS]

Fits pairs of small models whose true difference is known (equal, better or worse by one and two detectable differences),
scores both on the same 200 to 20,000 samples, a third of them in groups, and counts what \`judge\` does with the second,
beside the rule "the number is higher". Then 50 equal candidates in a row on one frozen set. Last, what scoring 20,000
samples of both models and testing them takes, beside the models' own work and the starts of processes.

  --drops N      instead: trains on N drops in a row, on from the model before and from nothing on all (minutes)
  --streams N    instead: what training.when saves and loses on N streams of 30 drops, of which three in four drift
  --pairs N      of each kind; default 1000
  --rows N       of 50 drops in a row; default 300
  --seed N       default 1
  --json FILE    every count
  --help
`;

const count = wholeNumber(1, 100_000);
const schema = z.object({
  drops: wholeNumber(2, 100).optional(),
  streams: wholeNumber(4, 1_000).optional(),
  pairs: count.default(1000),
  rows: count.default(300),
  seed: count.default(1),
  json: z.string().min(1, 'name a file').optional(),
});

const RULE = { kind: 'whenBetterBy', margin: { points: 0 }, confidence: 0.95 } as const;
const DROPS = 50;

interface Ground {
  readonly metric: Metric;
  readonly samples: readonly Drawn[];
  readonly isGrouped: boolean;
  readonly current: Weights;
  readonly draw: Draw;
}

function groundOf(seed: string): Ground {
  const uniform = seededUniform(seed);
  const draw = normalDraws(`${seed} samples`);
  const isGrouped = uniform() < 1 / 3;
  const size = Math.round(200 * 100 ** uniform());
  const groupSize = isGrouped ? 2 + Math.floor(uniform() * 9) : 1;
  const metric = METRICS[uniform() < 0.5 ? 0 : 1] ?? 'accuracy';
  const current = fit(drawSamples(60 + Math.floor(uniform() * 240), draw, { tie: 0, groupSize: 1 }));
  const samples = drawSamples(size, draw, { tie: isGrouped ? 0.3 : 0, groupSize });
  return { metric, samples, isGrouped, current, draw };
}

const scoresOf = ({ samples, metric }: Ground, weights: Weights): ScoreTable =>
  new Map(samples.map((sample, k) => [String(k), { value: scoreOf(marginOf(weights, sample), metric) }]));

function judged(ground: Ground, candidate: Weights, current: ScoreTable, look = 1): Judgement {
  const { samples, metric, isGrouped } = ground;
  return judge({
    metric,
    mode: metric === 'accuracy' ? 'max' : 'min',
    rule: RULE,
    candidate: scoresOf(ground, candidate),
    current,
    look,
    ...(isGrouped && { groupOf: (key: string) => String(samples[Number(key)]?.group) }),
  });
}

/** Of an equal candidate: what is found in four of five comparisons at the first look. */
function detectable(ground: Ground, current: ScoreTable): number {
  const { difference } = judged(ground, turned(ground.current, ground.draw), current);
  return difference === undefined
    ? 0
    : ((1.96 + 0.8416) * difference.deviation) / Math.sqrt(difference.groups);
}

/** Turned to where its true score is better by `by`; undefined where no model of this length is so good, or so bad. */
function betterBy({ current, metric, draw }: Ground, by: number): Weights | undefined {
  const goal = trueScore(current, metric) + (metric === 'accuracy' ? by : -by);
  const gap = (angle: number) => trueScore(tilted(current, angle, draw), metric) - goal;
  let [low, high] = [0.001, Math.PI / 2];
  if (gap(low) * gap(high) > 0) return undefined;
  const isRising = gap(low) < 0;
  for (let halvings = 0; halvings < 30; halvings += 1) {
    const middle = (low + high) / 2;
    if (gap(middle) < 0 === isRising) low = middle;
    else high = middle;
  }
  return tilted(current, low, draw);
}

const KINDS = { equal: 0, 'better by 1': 1, 'better by 2': 2, 'worse by 1': -1, 'worse by 2': -2 } as const;

interface Tally {
  pairs: number;
  promoted: number;
  refused: number;
  /** By the rule that the number is higher. */
  naive: number;
  impossible: number;
}
const nothing = (): Tally => ({ pairs: 0, promoted: 0, refused: 0, naive: 0, impossible: 0 });

function countPairs(seed: number, pairs: number): Record<string, Tally> {
  const tallies: Record<string, Tally> = {};
  for (const [kind, times] of Object.entries(KINDS)) {
    const tally = (tallies[kind] = nothing());
    for (let k = 0; tally.pairs < pairs; k += 1) {
      const ground = groundOf(`${seed} ${k}`);
      const current = scoresOf(ground, ground.current);
      const candidate =
        times === 0
          ? turned(ground.current, ground.draw)
          : betterBy(ground, times * detectable(ground, current));
      if (candidate === undefined) {
        tally.impossible += 1;
        continue;
      }
      const { verdict, difference } = judged(ground, candidate, current);
      tally.pairs += 1;
      tally.promoted += Number(verdict === 'better');
      tally.refused += Number(verdict === 'notBetter');
      tally.naive += Number((difference?.better ?? 0) > 0);
    }
  }
  return tallies;
}

/** @returns in how many rows a candidate that is no better was promoted */
function countRows(seed: number, rows: number) {
  let [wrong, naive] = [0, 0];
  for (let row = 0; row < rows; row += 1) {
    const ground = groundOf(`${seed} row ${row}`);
    const current = scoresOf(ground, ground.current);
    const drops = Array.from({ length: DROPS }, (_, k) =>
      judged(ground, tilted(ground.current, angleOf(ground.current), ground.draw), current, k + 1),
    );
    wrong += Number(drops.some(({ verdict }) => verdict === 'better'));
    naive += Number(drops.some(({ difference }) => (difference?.better ?? 0) > 0));
  }
  return { rows, wrong, naive };
}

function millisecondsOf20000(): number {
  const draw = normalDraws('time');
  const samples = drawSamples(20_000, draw, { tie: 0, groupSize: 1 });
  const current = fit(samples.slice(0, 200));
  const ground: Ground = { metric: 'loss', samples, isGrouped: false, current, draw };
  const [before, after] = [scoresOf(ground, current), turned(current, draw)];
  const began = process.cpuUsage();
  judged(ground, after, before);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

const FOR_SCRIPTS = join(import.meta.dirname, '../../training/agent/for_scripts');
const PYTHON = process.env['TIDEWHEEL_PYTHON'] ?? join(import.meta.dirname, '../../.venv/bin/python');

/** Measures a process that calls `tidewheel.score` so often. */
function millisecondsOfScores(count: number): number {
  const folder = mkdtempSync(join(tmpdir(), 'tidewheel-scores-'));
  const script = `import tidewheel\nfor k in range(${count}): tidewheel.score(str(k), accuracy=1.0)`;
  const environment = { TIDEWHEEL_SCORES_FILE: join(folder, 'scores.jsonl'), PYTHONPATH: FOR_SCRIPTS };
  const began = performance.now();
  execFileSync(PYTHON, ['-c', script], { env: { ...process.env, ...environment } });
  const milliseconds = performance.now() - began;
  rmSync(folder, { recursive: true });
  return milliseconds;
}

const TEN_MINUTES = 600_000;

const percent = (part: number, of: number): string => `${((100 * part) / of).toFixed(1)} %`;

await runCommand(USAGE, async (args) => {
  const { drops, streams, pairs, rows, seed, json } = readCommandLine(args, { schema }).values;
  const write = (counts: object) =>
    json === undefined ? undefined : writeFileSync(json, JSON.stringify({ seed, ...counts }, null, 2));
  if (drops !== undefined) {
    write({ drops, tasks: await playDrops(drops, seed) });
    return 0;
  }
  if (streams !== undefined) {
    write({ streams: playStreams(streams, seed) });
    return 0;
  }
  const tallies = countPairs(seed, pairs);
  const row = countRows(seed, rows);
  const milliseconds = millisecondsOf20000();
  const cells = Object.entries(tallies).map(([kind, { pairs: of, promoted, refused, naive }]) => [
    kind,
    String(of),
    ...[promoted, refused, naive].map((part) => percent(part, of)),
  ]);
  console.log(markdownTable(['candidate', 'pairs', 'promoted', 'refused', '"higher"'], cells));
  console.log(
    `${DROPS} equal candidates in a row: one promoted in ${percent(row.wrong, rows)} of ${rows} rows; "higher": ${percent(row.naive, rows)}`,
  );
  console.log(`20,000 pairs: ${milliseconds.toFixed(0)} ms of CPU`);
  const processStart = millisecondsOfScores(0);
  const scored = 2 * (millisecondsOfScores(20_000) - processStart) + milliseconds;
  console.log(
    `both models scored on them and tested: ${scored.toFixed(0)} ms, ${percent(scored, TEN_MINUTES)} of ten minutes, and two process starts of ${processStart.toFixed(0)} ms`,
  );
  write({ tallies, row, milliseconds, scored, processStart });
  return 0;
});
