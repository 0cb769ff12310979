/** Streams of drops, drifting and not: what `training.when` saves, and what it loses against a training for each drop. */

import { type NeedAsked, trainingNeed } from '@tidewheel/judging/judge.ts';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { markdownTable } from '../../cli/recipes/table.ts';
import { type Drawn, drawSamples, fit, marginOf, normalDraws, scoreOf, type Weights } from './classifiers.ts';

const DROPS = 30;
const SAMPLES = 500;
/** On the stream as it is after each drop, which no model has seen. */
const UNSEEN = 2_000;
/** A training reads so many drops, one sample in five of them held out. */
const WINDOW = 4;
const RULE = { worseBy: { points: 0.01 }, orSamples: 8 * SAMPLES } as const;
/** In trainings: scoring 500 samples takes a small CPU host three minutes, training on 2,000 a GPU host twenty. */
const SCORING_COST = (3 * 0.115) / (20 * 1.408);

const KINDS = ['still', 'sudden', 'slow', 'and back'] as const;
type Kind = (typeof KINDS)[number];

/** By which the classes have turned. */
function angleAt(kind: Kind, drop: number, jump: number): number {
  switch (kind) {
    case 'still':
      return 0;
    case 'sudden':
      return drop < jump ? 0 : 0.7;
    case 'slow':
      return 0.025 * drop;
    case 'and back':
      return drop < jump || drop >= jump + 8 ? 0 : 0.5;
  }
}

function turnedBy(angle: number, { features: [x = 0, y = 0, ...others], ...sample }: Drawn): Drawn {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return { ...sample, features: [x * cos - y * sin, x * sin + y * cos, ...others] };
}

const tableOf = (weights: Weights, samples: readonly Drawn[]): NeedAsked['arrived'] =>
  new Map(samples.map((each, k) => [String(k), { value: scoreOf(marginOf(weights, each), 'accuracy') }]));

const accuracyOf = (weights: Weights, samples: readonly Drawn[]): number =>
  samples.filter((each) => marginOf(weights, each) > 0).length / samples.length;

function playStream(seed: string, kind: Kind) {
  const jump = 5 + Math.floor(seededUniform(seed)() * 15);
  const draw = normalDraws(`${seed} drops`);
  const drawn = (count: number) =>
    Array.from({ length: DROPS }, (_, drop) =>
      drawSamples(count, draw, { tie: 0, groupSize: 1 }).map((each) =>
        turnedBy(angleAt(kind, drop, jump), each),
      ),
    );
  const [drops, unseen] = [drawn(SAMPLES), drawn(UNSEEN)];
  const trainedAt = (drop: number) => {
    const read = drops.slice(Math.max(0, drop + 1 - WINDOW), drop + 1).flat();
    const weights = fit(read.filter((_, k) => k % 5 > 0));
    return {
      weights,
      known: tableOf(
        weights,
        read.filter((_, k) => k % 5 === 0),
      ),
    };
  };
  const counts = { trainings: 0, always: 0, when: 0 };
  let [inUse, since] = [trainedAt(0), 0];
  for (const [drop, samples] of drops.entries()) {
    since += samples.length;
    const newest = trainedAt(drop);
    const arrived = tableOf(inUse.weights, samples);
    const asked = { metric: 'accuracy', mode: 'max', arrived, known: inUse.known, since, ...RULE } as const;
    if (drop === 0 || trainingNeed(asked)?.isNeeded !== false) {
      counts.trainings += 1;
      [inUse, since] = [newest, 0];
    }
    counts.always += accuracyOf(newest.weights, unseen[drop] ?? []) / DROPS;
    counts.when += accuracyOf(inUse.weights, unseen[drop] ?? []) / DROPS;
  }
  return { ...counts, saved: 1 - (counts.trainings + SCORING_COST * (DROPS - 1)) / DROPS };
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;

/** Prints a line for each kind, and one for all. */
export function playStreams(streams: number, seed: number) {
  const played = Array.from({ length: streams }, (_, k) => {
    const kind = KINDS[k % KINDS.length] ?? 'still';
    return { kind, ...playStream(`${seed} stream ${k}`, kind) };
  });
  const row = (name: string, some: typeof played) => [
    name,
    String(some.length),
    mean(some.map(({ trainings }) => trainings)).toFixed(1),
    `${(100 * mean(some.map(({ saved }) => saved))).toFixed(0)} %`,
    ...(['always', 'when'] as const).map((of) => (100 * mean(some.map((each) => each[of]))).toFixed(2)),
    (100 * mean(some.map(({ always, when }) => always - when))).toFixed(2),
  ];
  const rows = KINDS.map((kind) =>
    row(
      kind,
      played.filter((each) => each.kind === kind),
    ),
  );
  const head = [
    'drift',
    'streams',
    `trainings of ${DROPS}`,
    'dollars saved',
    'always',
    'when',
    'points lost',
  ];
  console.log(markdownTable(head, [...rows, row('all', played)]));
  return played;
}
