/** The account of the simulated region: its limits, and what everything in it has used. */

import type { Clock } from '@tidewheel/kit/clock.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { FleetPlan } from '../../../functions/launch/ec2/fleet.ts';
import type { JobDocument } from '../../../functions/launch/job/job-document.ts';
import type { CreateTrainingJobRequest } from '../../../functions/launch/job/request.ts';
import type { CreateOutcome } from '../../../functions/launch/job/training-service.ts';
import type { FleetScript } from '../fakes/fleets.ts';
import type { JobScript } from '../fakes/training.ts';
import type { Data } from './asl.ts';
import type { Answer } from './execution.ts';
import type { Loop } from './loop.ts';
import type { Random } from './random.ts';

export interface Conditions {
  /** Functions that may run at once; undefined: any number. */
  readonly concurrentExecutions?: number | undefined;
  readonly packers?: number;
  /** Besides what the calls of the function take. */
  readonly functionSeconds?: (name: string, event: Data) => number;
  /** Of one call of a port, e.g. `store.readText`. Default: a moment that chance chooses, one call after the other. */
  readonly callSeconds?: (call: string) => number;
  /** Whether AWS throttles the call of a port: it has no effect then. The adapters throw TransientError for it. */
  readonly isThrottled?: (call: string) => boolean;
  /** What becomes of a training job. Default: chance decides. */
  readonly jobScript?: (request: CreateTrainingJobRequest) => JobScript;
  /** The same of a fleet. @param now ISO 8601 */
  readonly fleetScript?: (document: JobDocument, now: () => string) => FleetScript;
  /** Why SageMaker creates no job. */
  readonly refusal?: (request: CreateTrainingJobRequest) => CreateOutcome | undefined;
  /** Why EC2 launches no fleet. */
  readonly fleetRefusal?: (plan: FleetPlan) => CreateOutcome | undefined;
}

interface Invoked {
  count: number;
  seconds: number;
}

export interface Usage {
  /** By the function's name in the state machine. */
  readonly functions: ReadonlyMap<string, Invoked>;
  /** By function, port and method, e.g. `Settle store.readText`. */
  readonly calls: ReadonlyMap<string, number>;
  /** Retries of the state machine, by the error before them. */
  readonly retries: ReadonlyMap<string, number>;
  readonly states: number;
  readonly mostSlots: number;
  readonly throttled: number;
}

export interface Account {
  readonly usage: () => Usage;
  /** Refuses what is above the limit, as Lambda does. */
  readonly invoke: (name: string, perform: () => Promise<Answer>) => Promise<Answer>;
  readonly work: (name: string, event: Data) => Promise<void>;
  /** Before a call of a port: counts it and lets its time pass. */
  readonly call: (name: string, call: string) => Promise<void>;
  readonly entered: () => void;
  readonly retried: (error: string) => void;
}

const addTo = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);

export function accountOf(
  { loop, clock, random }: { readonly loop: Loop; readonly clock: Clock; readonly random: Random },
  conditions: Conditions,
): Account {
  const functions = new Map<string, Invoked>();
  const calls = new Map<string, number>();
  const retries = new Map<string, number>();
  const count = { states: 0, slots: 0, mostSlots: 0, throttled: 0 };
  const limit = conditions.concurrentExecutions ?? Number.POSITIVE_INFINITY;
  // Packing takes its time: long enough for the next batch to become quiet.
  const byChance = (name: string) =>
    name === 'PackShards' && random.chance(0.3) ? random.whole(60, 150) : 0;
  const secondsOf = conditions.functionSeconds ?? byChance;
  return {
    usage: () => ({ functions, calls, retries, ...count }),
    invoke: async (name, perform) => {
      if (count.slots >= limit) {
        count.throttled += 1;
        return { kind: 'error', name: 'Lambda.TooManyRequestsException', cause: 'Rate Exceeded.' };
      }
      count.slots += 1;
      count.mostSlots = Math.max(count.mostSlots, count.slots);
      const began = clock.now().getTime();
      const answer = await perform();
      count.slots -= 1;
      const invoked = functions.get(name) ?? { count: 0, seconds: 0 };
      invoked.count += 1;
      invoked.seconds += (clock.now().getTime() - began) / 1_000;
      functions.set(name, invoked);
      return answer;
    },
    work: (name, event) => {
      const seconds = secondsOf(name, event);
      return seconds > 0 ? loop.sleep(seconds) : Promise.resolve();
    },
    call: async (name, call) => {
      addTo(calls, `${name} ${call}`);
      await (conditions.callSeconds === undefined ? loop.gate() : loop.sleep(conditions.callSeconds(call)));
      if (conditions.isThrottled?.(call) === true) throw new TransientError(`${call}: Rate exceeded`);
    },
    entered: () => {
      count.states += 1;
    },
    retried: (error) => {
      addTo(retries, error);
    },
  };
}
