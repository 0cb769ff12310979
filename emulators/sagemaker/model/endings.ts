/** Why a job ends before its program does, and how that shows. */
import type { SecondaryStatus } from '@aws-sdk/client-sagemaker';
import type { LocalClock } from '../../clock/clock.ts';

export type Ending = 'stopped' | 'maxRuntime' | 'maxWait' | 'maxPending' | 'noCapacity' | 'serverCloses';

export const STOPPED_AS: Readonly<
  Record<Exclude<Ending, 'noCapacity' | 'serverCloses'>, readonly [SecondaryStatus, string]>
> = {
  stopped: ['Stopped', 'Training job stopped'],
  maxPending: ['Stopped', 'Training job stopped: MaxPendingTimeInSeconds passed without capacity'],
  maxRuntime: ['MaxRuntimeExceeded', 'Training job runtime exceeded MaxRuntimeInSeconds provided'],
  maxWait: ['MaxWaitTimeExceeded', 'Training job exceeded MaxWaitTimeInSeconds provided'],
};

/** The first reason to end counts; time limits are among the reasons. */
export class EndingSwitch {
  readonly #controller = new AbortController();
  readonly #clock: LocalClock;
  readonly #onLimit: (ending: Ending) => Promise<void>;
  readonly #cancels = new Set<() => void>();
  #ending: Ending | undefined;

  /** onLimit: before a limit ends the job. */
  constructor(clock: LocalClock, onLimit: (ending: Ending) => Promise<void>) {
    this.#clock = clock;
    this.#onLimit = onLimit;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get ending(): Ending | undefined {
    return this.#ending;
  }

  end(ending: Ending): void {
    this.#ending ??= ending;
    this.#controller.abort();
  }

  /** Ends the job after so many seconds, unless the returned function is called. */
  limit(ending: Ending, seconds: number | undefined): () => void {
    if (seconds === undefined) return () => {};
    const endMs = this.#clock.now() + seconds * 1000;
    const cancelTimer = this.#clock.at(endMs, () => {
      if (this.#ending === undefined) void this.#onLimit(ending).then(() => this.end(ending));
    });
    const cancel = (): void => {
      cancelTimer();
      this.#cancels.delete(cancel);
    };
    this.#cancels.add(cancel);
    return cancel;
  }

  cancelLimits(): void {
    for (const cancel of this.#cancels) cancel();
  }
}
