/** What `watch` sees of a run, again and again. A deployment that goes away for some minutes ends no watching. */
import { type Api, isPassing } from '../command/api-calls.ts';
import type { Watched } from './screen.ts';
import { type Settle, settleOf } from './settling.ts';

const POINTS = 40;
/** A region that is started again is there sooner. */
const LONGEST_SILENCE_MILLISECONDS = 600_000;

export class RunPolling {
  readonly #api: Api;
  readonly #runId: string;
  #last: Watched | undefined;
  #settle: Settle | undefined;

  constructor(api: Api, runId: string) {
    this.#api = api;
    this.#runId = runId;
  }

  /** @throws where the first look fails, and where none has succeeded for ten minutes */
  async next(): Promise<Watched> {
    try {
      this.#last = await this.#look();
    } catch (error: unknown) {
      const last = this.#last;
      if (last === undefined || !isPassing(error)) throw error;
      const silentSince = last.silentSince ?? Date.now();
      if (Date.now() - silentSince > LONGEST_SILENCE_MILLISECONDS) throw error;
      this.#last = { ...last, silentSince };
    }
    return this.#last;
  }

  async #look(): Promise<Watched> {
    const runId = this.#runId;
    const [view, { series }] = await Promise.all([
      this.#api.call('getRun', { runId }),
      this.#api.call('getSeries', { runId, points: POINTS }),
    ]);
    if (view.run.status !== 'settling' || view.run.stop !== undefined) return { view, series };
    this.#settle ??= settleOf(await this.#api.call('getPipeline', { name: view.run.pipeline }));
    return { view, series, settle: this.#settle };
  }
}
