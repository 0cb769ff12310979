/**
 * Campaigns whose promises are held against what then happened. Their windows are no draws of the chain that placement
 * believes in: spells of capacity are lognormal, with shares and lengths of their own for each zone.
 */

import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { alternating, type DrawPool } from '@tidewheel/placement/estimate.ts';
import { readProgress } from '../../functions/records/progress.ts';
import { decisionOf, type Money, moneyOf } from '../../functions/run/attempts/money.ts';
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
  ZONE_IDS,
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
  former: ['none', 'one', 'nine'],
  pace: ['steady', 'noisy'],
  /** The length of former runs beside that of this one. */
  work: ['as before', 'half as much', 'half more'],
  nodes: ['1', '4', '16'],
} as const;
type Kinds = { readonly [Name in keyof typeof KINDS]: (typeof KINDS)[Name][number] };

/** What the forecast knows of such a campaign is right. */
const isPlain = ({ former, work, scores }: Kinds): boolean =>
  former !== 'none' && work === 'as before' && scores === 'right';

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
  /** What an oracle would show; only where a former run, its work and scores are right. */
  readonly oracle?: { readonly seconds: Interval; readonly usd: Interval } | undefined;
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
const FORMER = { none: 0, one: 1, nine: 9 } as const;
const WORK = { 'as before': 1, 'half as much': 2, 'half more': 2 / 3 } as const;

const oneOf = <Name>(names: readonly [Name, ...Name[]], draw: () => number): Name =>
  names[Math.floor(draw() * names.length)] ?? names[0];

/** Half have former runs of another length. @param drawNodes apart, so that gangs live through what single nodes do */
function drawKinds(draw: () => number, drawNodes: () => number): Kinds {
  return {
    deadline: oneOf(KINDS.deadline, draw),
    capacity: oneOf(KINDS.capacity, draw),
    zones: oneOf(KINDS.zones, draw),
    scores: oneOf(KINDS.scores, draw),
    former: oneOf(KINDS.former, draw),
    pace: oneOf(KINDS.pace, draw),
    work: draw() < 0.5 ? 'as before' : oneOf(['half as much', 'half more'], draw),
    nodes: oneOf(KINDS.nodes, drawNodes),
  };
}

const normal = (draw: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());

const TICKS = 320;
/** Spells before the campaign, so that it begins anywhere in one. */
const TICKS_BEFORE = 600;
const SPELL_SPREAD = 1.3;

/** Mean seconds of spells with capacity, and of those without. */
interface Law {
  readonly up: number;
  readonly down: number;
}

function drawLaw(capacity: Kinds['capacity'], draw: () => number): Law {
  const [least, most] = CAPACITY[capacity];
  const share = least + (most - least) * draw();
  const up = HOUR * 0.7 * (6 / 0.7) ** draw();
  return { up, down: (up * (1 - share)) / share };
}

/** Seconds, whole ticks. */
const drawSpell = (law: Law, isUp: boolean, draw: () => number): number => {
  const spell = law[isUp ? 'up' : 'down'] * Math.exp(SPELL_SPREAD * normal(draw) - SPELL_SPREAD ** 2 / 2);
  return TICK_SECONDS * Math.max(1, Math.round(spell / TICK_SECONDS));
};

function drawWindow(law: Law, draw: () => number): Trace {
  const ticks: boolean[] = [];
  let isUp = draw() < law.up / (law.up + law.down);
  while (ticks.length < TICKS_BEFORE + TICKS) {
    for (let left = drawSpell(law, isUp, draw); left > 0; left -= TICK_SECONDS) ticks.push(isUp);
    isUp = !isUp;
  }
  return ticks.slice(TICKS_BEFORE, TICKS_BEFORE + TICKS);
}

interface Zone {
  readonly law: Law;
  readonly trace: Trace;
}

/** So often at most a spell is drawn again that would have ended already. */
const REDRAWS = 500;

/** Knows the law of each zone and the spell that it is in, but not what comes. @param now in seconds of the campaign */
const oracle =
  (zones: readonly Zone[], now: number): DrawPool =>
  ({ pool }, draw) => {
    const zone = zones[ZONE_IDS.indexOf(pool.zoneId ?? '')];
    if (zone === undefined) throw new Error(`no zone of the campaign: ${pool.zoneId ?? 'none'}`);
    const { law, trace } = zone;
    const tick = Math.floor(now / TICK_SECONDS);
    let isUp = trace[tick] ?? false;
    let change = TICK_SECONDS * (trace.lastIndexOf(!isUp, tick) + 1) - now;
    let spell = drawSpell(law, isUp, draw);
    for (let k = 0; k < REDRAWS && change + spell <= 0; k += 1) spell = drawSpell(law, isUp, draw);
    return alternating(isUp, () => {
      change += spell;
      isUp = !isUp;
      spell = drawSpell(law, isUp, draw);
      return change;
    });
  };

/** What each trouble changes of a campaign; its deadline counts in works. */
const CHANGES: Readonly<
  Record<Trouble, { readonly kinds: Partial<Kinds>; readonly deadline: number; readonly former: number }>
> = {
  'On-Demand refused': {
    kinds: { capacity: 'scarce', zones: '1', former: 'nine' },
    deadline: 1.25,
    former: 1,
  },
  'twice the work': { kinds: { former: 'nine' }, deadline: 0.75, former: 0.5 },
  'a deadline below the work': { kinds: { former: 'nine' }, deadline: 0.9, former: 1 },
};

/** @param trouble makes the campaign late; then each tick is looked at as the service does, and no share of the work */
export async function keptCampaign(seed: number, trouble?: Trouble): Promise<Kept> {
  const draw = seededUniform(`promise ${seed}`);
  const change = trouble && CHANGES[trouble];
  const kinds: Kinds = { ...drawKinds(draw, seededUniform(`nodes ${seed}`)), ...change?.kinds };
  const spread = PACE_SPREAD[kinds.pace];
  const paceOfRun = (): number => Math.exp((spread / 2) * normal(draw));
  const own = paceOfRun();
  const drawSteps = seededUniform(`steps ${seed}`);
  const setting: Setting = {
    tickSeconds: TICK_SECONDS,
    workSeconds: WORK_SECONDS,
    deadlineSeconds: Math.ceil(WORK_SECONDS * (change?.deadline ?? Number(kinds.deadline))),
    restartSeconds: 300,
    spotUsd: Array.from({ length: Number(kinds.zones) }, () => 0.75 + 0.5 * draw()),
    onDemandUsd: 3.06,
  };
  const zones = setting.spotUsd.map((): Zone => {
    const law = drawLaw(kinds.capacity, draw);
    return { law, trace: drawWindow(law, draw) };
  });
  const shown: Shown[] = [];
  let warnedAt: number | undefined;
  const played = campaign(
    setting,
    zones.map(({ trace }, k) => ({ trace, scores: SCORES[kinds.scores](trace, seed + k) })),
    {
      formerSeconds: Array.from(
        { length: FORMER[kinds.former] },
        () => WORK_SECONDS * (change?.former ?? WORK[kinds.work]) * paceOfRun(),
      ),
      pace: () => own * Math.exp(spread * normal(draw)),
      tickPace: () => Math.exp((spread / 2) * normal(drawSteps)),
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
        shown.push(await lookAt(look, share, isPlain(kinds) ? zones : undefined));
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
async function lookAt(
  { stores, store, clock, runId, workDone }: CampaignLook,
  share: Share,
  known: readonly Zone[] | undefined,
): Promise<Shown> {
  const run = await stores.runs.get(runId);
  if (run?.closedAt === undefined) throw new Error('no such run');
  const attempts = await stores.attempts.list(runId);
  const [progress, decided] = await Promise.all([
    readProgress(store, run.pipeline, runId),
    decisionOf(stores.placements, runId, attempts),
  ]);
  const began = process.cpuUsage();
  const question = { run, attempts, progress, decided, now: clock.now() };
  const { expected, usd } = moneyOf(question);
  const { user, system } = process.cpuUsage(began);
  const since = (at: string): number => (Date.parse(at) - Date.parse(run.closedAt ?? '')) / 1_000;
  const done = workDone / WORK_SECONDS;
  const ofWhole = (money: Money['expected']) => ({
    seconds: money
      ? {
          low: since(money.finishAt.low),
          expected: since(money.finishAt.expected),
          high: since(money.finishAt.high),
        }
      : NOTHING,
    usd: money?.usd ?? NOTHING,
  });
  return {
    share,
    ...ofWhole(expected),
    ...(known && {
      oracle: ofWhole(moneyOf({ ...question, drawPool: oracle(known, secondsOf(clock.now())) }).expected),
    }),
    lateChance: expected?.lateChance ?? Number.NaN,
    ...(done > 0 && { naive: { seconds: since(clock.now().toISOString()) / done, usd: usd / done } }),
    cpuMilliseconds: (user + system) / 1_000,
  };
}
