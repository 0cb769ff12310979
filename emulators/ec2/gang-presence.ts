/** A job's part in the clock: whether a virtual one may go on under what its hosts do. */
import type { LocalClock } from '../clock/clock.ts';
import { Presence } from '../clock/presence.ts';

/**
 * boots: nothing runs on it yet. starts: its program has not slept on the clock yet. sleeps: its download waits for
 * bytes. ends: it has EC2's notice, and its grace is real time.
 */
export type Doing = 'boots' | 'starts' | 'sleeps' | 'works' | 'ends';

export class GangPresence {
  readonly #presence: Presence;
  readonly #hosts = new Map<string, Doing>();

  constructor(clock: LocalClock, jobName: string) {
    this.#presence = new Presence(clock, jobName);
  }

  /** A host that ends does nothing else any more. */
  set(instanceId: string, doing: Doing): void {
    if (this.#hosts.get(instanceId) !== 'ends') this.#hosts.set(instanceId, doing);
    this.#look();
  }

  /** @returns whether it was the last */
  leave(instanceId: string): boolean {
    this.#hosts.delete(instanceId);
    this.#look();
    return this.#hosts.size === 0;
  }

  #look(): void {
    if (mayMove([...this.#hosts.values()])) this.#presence.rest();
    else this.#presence.work();
  }
}

/** Hosts meet before they download, and again before they train: one that works may only wait for the others. */
function mayMove(hosts: readonly Doing[]): boolean {
  if (hosts.length === 0) return true;
  if (hosts.includes('ends')) return false;
  return hosts.includes('boots') || (hosts.includes('sleeps') && !hosts.includes('starts'));
}
