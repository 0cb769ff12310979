/** A job's record as it changes: kept on disk first, sent to EventBridge afterwards. */
import type { SecondaryStatus, TrainingJobStatus } from '@aws-sdk/client-sagemaker';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { type JobRecord, withPhaseEnded, withStatus } from '../model/job-record.ts';
import type { JobStore } from '../model/job-store.ts';
import type { Settings } from '../model/options.ts';
import type { EventSender } from './events.ts';

export interface StateServices {
  readonly settings: Settings;
  readonly store: JobStore;
  readonly events: EventSender;
}

export class JobState {
  readonly #services: StateServices;
  #record: JobRecord;

  constructor(record: JobRecord, services: StateServices) {
    this.#record = record;
    this.#services = services;
  }

  get record(): JobRecord {
    return this.#record;
  }

  /** Saved with the next change of status. */
  update(change: (record: JobRecord) => JobRecord): void {
    this.#record = change(this.#record);
  }

  async change(status: TrainingJobStatus, secondaryStatus: SecondaryStatus, message: string): Promise<void> {
    // A stop that came meanwhile is not undone by what was under way.
    if (this.#record.status === 'Stopping' && status === 'InProgress') return;
    const { store, events, settings } = this.#services;
    const now = settings.clock.now();
    this.#record = withStatus(this.#record, { status, secondaryStatus, message }, now);
    const record = this.#record;
    const reason = record.failureReason === undefined ? '' : `: ${record.failureReason}`;
    settings.log(`${record.name} ${record.status}/${record.secondaryStatus}${reason}`);
    try {
      await store.save(record);
    } catch (error) {
      settings.log(`${record.name} could not be saved: ${messageOf(error)}`);
    }
    events.send(record);
  }

  async end(status: TrainingJobStatus, secondaryStatus: SecondaryStatus, message: string): Promise<void> {
    const now = this.#services.settings.clock.now();
    this.update((record) => {
      const done = withPhaseEnded(record, now);
      return done.trainingStartedAt === undefined ? done : { ...done, trainingEndedAt: now };
    });
    await this.change(status, secondaryStatus, message);
  }
}
