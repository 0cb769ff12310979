/**
 * Campaigns whose promises are held against what then happened. Their windows are no draws of the chain that placement
 * believes in: spells of capacity are lognormal, with shares and lengths of their own for each zone.
 */

import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { readProgress } from '../../functions/records/progress.ts';
import { decisionOf, moneyOf } from '../../functions/run/attempts/money.ts';
import { watchLimits } from '../../functions/run/attempts/watch-limits.ts';
import { memoryNotifier } from '../../test/support/fakes/notifier.ts';
import type { Setting } from '../../test/support/market/job.ts';
import { TICK_SECONDS, type Trace } from '../../test/support/market/traces.ts';
import {
  type CampaignLook,
  campaign,
  GivenUpError,
  HOUR,
  secondsOf,
} from '../placement/decided/decided-campaign.ts';
import { SCORES } from '../placement/decided/play.ts';

/** The shares of the work at which people look. */
export const SHARES = [0, 0.1, 0.25, 0.5, 0.75, 0.9] as const;
type Share = (typeof SHARES)[number];

/** What a campaign is like; each is drawn by itself. */
const KINDS = {
  deadline: ['1.1', '1.25', '1.5', '2'],
  capacity: ['scarce', 'middle', 'plenty'],
  zones: ['1', '2', '4'],
  scores: ['right', 'wrong', 'none'],
  /** Runs before it. */
  former: ['none', 'one', 'five'],
  pace: ['steady', 'noisy'],
  /** The length of former runs beside that of this one. */
  work: ['as before', 'half as much', 'half more'],
  nodes: ['1', '4', '16'],
} as const;
type Kinds = { readonly [Name in keyof typeof KINDS]: (typeof KINDS)[Name][number] };

/** Campaigns that are made to be late. */
export const TROUBLES = ['On-Demand refused', 'twice the work', 'a deadline below the work'] as const;
export type Trouble = (typeof TROUBLES)[number];

interface Interval {
  readonly low: number;
  readonly expected: number;
  readonly high: number;
}

/** What people saw at one look; seconds and USD of the whole run. */
export interface Shown {
  readonly share: Share;
  readonly seconds: Interval;
  readonly usd: Interval;
  readonly lateChance: number;
  /** By the ruler that extends what has passed; absent at the plan. */
  readonly naive?: { readonly seconds: number; readonly usd: number } | undefined;
  readonly cpuMilliseconds: number;
}

export interface Kept {
  readonly seed: number;
  readonly kinds: Kinds;
  readonly shown: readonly Shown[];
  /** Both infinite where placement gave the run up. */
  readonly seconds: number;
  readonly usd: number;
  readonly isLate: boolean;
  /** Seconds from the first `DeadlineInDanger` to the deadline; only where trouble was made. */
  readonly warnedAhead?: number | undefined;
}

const WORK_SECONDS = 16 * HOUR;
const PACE_SPREAD = { steady: 0.03, noisy: 0.12 } as const;
const CAPACITY = { scarce: [0.1, 0.35], middle: [0.35, 0.6], plenty: [0.6, 0.95] } as const;
const FORMER = { none: 0, one: 1, five: 5 } as const;
const WORK = { 'as before': 1, 'half as much': 2, 'half more': 2 / 3 } as const;

const oneOf = <Name>(names: readonly [Name, ...Name[]], draw: () => number): Name =>
  names[Math.floor(draw() * names.length)] ?? names[0];

/** Four in ten have former runs of another length. @param drawNodes apart, so that gangs live through what single nodes do */
function drawKinds(draw: () => number, drawNodes: () => number): Kinds {
  return {
    deadline: oneOf(KINDS.deadline, draw),
    capacity: oneOf(KINDS.capacity, draw),
    zones: oneOf(KINDS.zones, draw),
    scores: oneOf(KINDS.scores, draw),
    former: oneOf(KINDS.former, draw),
    pace: oneOf(KINDS.pace, draw),
    work: draw() < 0.6 ? 'as before' : oneOf(['half as much', 'half more'], draw),
    nodes: oneOf(KINDS.nodes, drawNodes),
  };
}

const normal = (draw: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());

const TICKS = 320;
/** Spells before the campaign, so that it begins anywhere in one. */
const TICKS_BEFORE = 600;
const SPELL_SPREAD = 1.3;

function drawWindow(capacity: Kinds['capacity'], draw: () => number): Trace {
  const [least, most] = CAPACITY[capacity];
  const share = least + (most - least) * draw();
  const upSeconds = HOUR * 0.7 * (6 / 0.7) ** draw();
  const means = { up: upSeconds, down: (upSeconds * (1 - share)) / share };
  const ticks: boolean[] = [];
  let isUp = draw() < share;
  while (ticks.length < TICKS_BEFORE + TICKS) {
    const mean = means[isUp ? 'up' : 'down'];
    const spell = mean * Math.exp(SPELL_SPREAD * normal(draw) - SPELL_SPREAD ** 2 / 2);
    for (let k = Math.max(1, Math.round(spell / TICK_SECONDS)); k > 0; k -= 1) ticks.push(isUp);
    isUp = !isUp;
  }
  return ticks.slice(TICKS_BEFORE, TICKS_BEFORE + TICKS);
}

/** What each trouble changes of a campaign; its deadline counts in works. */
const CHANGES: Readonly<
  Record<Trouble, { readonly kinds: Partial<Kinds>; readonly deadline: number; readonly former: number }>
> = {
  'On-Demand refused': {
    kinds: { capacity: 'scarce', zones: '1', former: 'five' },
    deadline: 1.25,
    former: 1,
  },
  'twice the work': { kinds: { former: 'five' }, deadline: 0.75, former: 0.5 },
  'a deadline below the work': { kinds: { former: 'five' }, deadline: 0.9, former: 1 },
};

/** @param trouble makes the campaign late; then each tick is looked at as the service does, and no share of the work */
export async function keptCampaign(seed: number, trouble?: Trouble): Promise<Kept> {
  const draw = seededUniform(`promise ${seed}`);
  const change = trouble && CHANGES[trouble];
  const kinds: Kinds = { ...drawKinds(draw, seededUniform(`nodes ${seed}`)), ...change?.kinds };
  const zones = Number(kinds.zones);
  const spread = PACE_SPREAD[kinds.pace];
  const paceOfRun = (): number => Math.exp((spread / 2) * normal(draw));
  const own = paceOfRun();
  const setting: Setting = {
    tickSeconds: TICK_SECONDS,
    workSeconds: WORK_SECONDS,
    deadlineSeconds: Math.ceil(WORK_SECONDS * (change?.deadline ?? Number(kinds.deadline))),
    restartSeconds: 300,
    spotUsd: Array.from({ length: zones }, () => 0.75 + 0.5 * draw()),
    onDemandUsd: 3.06,
  };
  const traces = setting.spotUsd.map(() => drawWindow(kinds.capacity, draw));
  const shown: Shown[] = [];
  let warnedAt: number | undefined;
  const played = campaign(
    setting,
    traces.map((trace, k) => ({ trace, scores: SCORES[kinds.scores](trace, seed + k) })),
    {
      formerSeconds: Array.from(
        { length: FORMER[kinds.former] },
        () => WORK_SECONDS * (change?.former ?? WORK[kinds.work]) * paceOfRun(),
      ),
      pace: () => own * Math.exp(spread * normal(draw)),
      nodes: Number(kinds.nodes),
      ...(trouble === 'On-Demand refused' && {
        onDemandAt: (requested) => Math.max(requested, setting.deadlineSeconds),
      }),
      onTick: async (look) => {
        if (trouble !== undefined) {
          if (warnedAt === undefined && (await isWarned(look))) warnedAt = secondsOf(look.clock.now());
          return;
        }
        const share = SHARES[shown.length];
        if (share === undefined || look.workDone < share * WORK_SECONDS) return;
        shown.push(await lookAt(look, share));
      },
    },
  );
  const { finishSeconds: seconds, billedUsd: usd } = await played.catch((error: unknown) => {
    if (error instanceof GivenUpError) return GIVEN_UP;
    throw error;
  });
  const { deadlineSeconds } = setting;
  return {
    seed,
    kinds,
    shown,
    seconds,
    usd,
    isLate: seconds > deadlineSeconds,
    warnedAhead: warnedAt === undefined ? undefined : deadlineSeconds - warnedAt,
  };
}

async function isWarned({ stores, store, clock, runId }: CampaignLook): Promise<boolean> {
  await watchLimits({ ...stores, store, clock, notifier: memoryNotifier() }, runId);
  return (await stores.timeline.list(runId)).some(({ kind }) => kind === 'DeadlineInDanger');
}

const GIVEN_UP = { finishSeconds: Number.POSITIVE_INFINITY, billedUsd: Number.POSITIVE_INFINITY };
const NOTHING: Interval = { low: Number.NaN, expected: Number.NaN, high: Number.NaN };

/** What page, API and `watch` show at this moment. */
async function lookAt({ stores, store, clock, runId, workDone }: CampaignLook, share: Share): Promise<Shown> {
  const run = await stores.runs.get(runId);
  if (run?.closedAt === undefined) throw new Error('no such run');
  const attempts = await stores.attempts.list(runId);
  const [progress, decided] = await Promise.all([
    readProgress(store, run.pipeline, runId),
    decisionOf(stores.placements, runId, attempts),
  ]);
  const began = process.cpuUsage();
  const { expected, usd } = moneyOf({ run, attempts, progress, decided, now: clock.now() });
  const { user, system } = process.cpuUsage(began);
  const since = (at: string): number => (Date.parse(at) - Date.parse(run.closedAt ?? '')) / 1_000;
  const done = workDone / WORK_SECONDS;
  const finish = expected?.finishAt;
  return {
    share,
    seconds: finish
      ? { low: since(finish.low), expected: since(finish.expected), high: since(finish.high) }
      : NOTHING,
    usd: expected?.usd ?? NOTHING,
    lateChance: expected?.lateChance ?? Number.NaN,
    ...(done > 0 && { naive: { seconds: since(clock.now().toISOString()) / done, usd: usd / done } }),
    cpuMilliseconds: (user + system) / 1_000,
  };
}
