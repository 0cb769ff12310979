/** Says on a run's timeline that this machine's market took its capacity: no cloud did, and no person asked for it. */
import { attemptOf, runOf } from '@tidewheel/emulators/spot-market/model/run-name.ts';
import type { MarketScript } from '@tidewheel/emulators/spot-market/spot-market.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import type { Session } from './session.ts';

export interface OwnReclaims {
  /** @param job of which the market's script took the capacity */
  readonly add: (job: string) => void;
  /** Writes the entries, earlier ones too. */
  readonly follow: (session: Pick<Session, 'stores' | 'screen'>) => void;
}

export function ownReclaims({ kind }: MarketScript, now = () => new Date()): OwnReclaims {
  const waiting: (() => void)[] = [];
  let session: Pick<Session, 'stores' | 'screen'> | undefined;
  const why = kind === 'demo' ? 'as it does once with each run (--market calm: never)' : 'by its script';
  const write = (runId: string, attempt: number, at: string): void => {
    session?.stores.timeline
      .add(runId, {
        id: `local-market-${attempt}`,
        at,
        kind: 'LocalMarketReclaimed',
        text: `attempt ${attempt}: this machine's market takes its Spot capacity, ${why}`,
      })
      .catch((error: unknown) => session?.screen.problem(`${runId}: ${messageOf(error)}`));
  };
  return {
    add: (job) => {
      const attempt = attemptOf(job);
      if (attempt === undefined) return;
      const at = now().toISOString();
      if (session === undefined) waiting.push(() => write(runOf(job), attempt, at));
      else write(runOf(job), attempt, at);
    },
    follow: (begun) => {
      session = begun;
      for (const each of waiting.splice(0)) each();
    },
  };
}
