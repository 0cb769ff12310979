/** Ports that fail by chance: an error or the death of the process, before or after the call took effect. */

import { TransientError } from '@tidewheel/kit/errors.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import { forever } from './loop.ts';
import type { Random } from './random.ts';

export interface Chaos {
  /** Of a call to fail; 0 when the weather is calm. */
  rate: number;
}

/** One run of one Lambda function: it can die, and then nothing of it goes on. */
export interface Invocation {
  dead: boolean;
  readonly die: () => void;
}

class AccessDenied extends Error {
  override readonly name = 'AccessDeniedException';
}

export interface Weather {
  readonly random: Random;
  readonly chaos: Chaos;
  /** Before a call of a port, e.g. `store.list`: it takes its time. */
  readonly wait: (call: string) => Promise<void>;
}

type Fault = 'none' | 'throwBefore' | 'throwAfter' | 'dieBefore' | 'dieAfter' | 'denied';

function faultOf({ random, chaos }: Weather): Fault {
  if (!random.chance(chaos.rate)) return 'none';
  const dice = random.next();
  if (dice < 0.3) return 'throwBefore';
  if (dice < 0.55) return 'throwAfter';
  if (dice < 0.75) return 'dieBefore';
  return dice < 0.98 ? 'dieAfter' : 'denied';
}

/** A call of a port, by its name. */
interface Call<T> {
  readonly name: string;
  readonly effect: () => T | Promise<T>;
}

async function perform<T>(weather: Weather, invocation: Invocation, { name, effect }: Call<T>): Promise<T> {
  if (invocation.dead) return forever();
  await weather.wait(name);
  if (invocation.dead) return forever();
  const fault = faultOf(weather);
  if (fault === 'denied') throw new AccessDenied('not allowed');
  if (fault === 'throwBefore') throw new TransientError('the call was lost');
  if (fault === 'dieBefore') return dying(invocation);
  const result = await effect();
  if (fault === 'throwAfter') throw new TransientError('the answer was lost');
  return fault === 'dieAfter' ? dying(invocation) : result;
}

async function dying(invocation: Invocation): Promise<never> {
  invocation.dead = true;
  invocation.die();
  return forever();
}

/** The same port, in this weather, for this invocation. */
export function exposed<T extends object>(
  { name: portName, port }: { readonly name: string; readonly port: T },
  weather: Weather,
  invocation: Invocation,
): T {
  return new Proxy(port, {
    get: (target, name): unknown => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) =>
        perform<unknown>(weather, invocation, {
          name: `${portName}.${String(name)}`,
          effect: () => Reflect.apply(member, target, given),
        });
    },
  });
}

/** The same bucket, in this weather, for this invocation. A listing fails at its beginning. */
export function exposedStore(store: ObjectStore, weather: Weather, invocation: Invocation): ObjectStore {
  const ordinary = exposed({ name: 'store', port: store }, weather, invocation);
  async function* list(prefix: string): AsyncIterable<ListedObject> {
    yield* await perform(weather, invocation, { name: 'store.list', effect: () => store.list(prefix) });
  }
  return new Proxy(ordinary, {
    get: (target, name): unknown => (name === 'list' ? list : Reflect.get(target, name)),
  });
}
