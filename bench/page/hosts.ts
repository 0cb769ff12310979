/** What the agent measured on the hosts of a run, as it writes it, and what the doctor makes of it. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Diagnosis } from '../../functions/records/run-records.ts';
import type { Ground } from '../../test/support/world/ground.ts';

const CORES = 4;
const HOSTS = 2;
const EVERY_SECONDS = 10;

/** An attempt by its times in seconds ago; on a machine of four cores with one GPU. */
export interface Busy {
  readonly attempt: number;
  readonly began: number;
  readonly ended: number;
  /** Shares of 1, about which it swings. */
  readonly cpu: number;
  readonly gpu: number;
}

export function putEvidence(at: Ground, runId: string, { attempt, began, ended, cpu, gpu }: Busy): void {
  for (let host = 1; host <= HOSTS; host += 1) {
    const lines: string[] = [];
    for (let ago = began; ago > ended; ago -= EVERY_SECONDS) {
      const swing = 0.06 * Math.sin(ago / 97 + host);
      lines.push(
        JSON.stringify({
          at: new Date(Date.now() - ago * 1_000).toISOString(),
          processes: 1,
          cpu: { cores: CORES, all: CORES * (cpu + swing / 2) },
          gpu: { busy: gpu - swing },
          shares: { wait: 1 - gpu + swing / 2 },
        }),
      );
    }
    const folder = bucketKeys.evidence('digits', runId);
    at.store.put(`${folder}${attempt}-algo-${host}.jsonl`, lines.join('\n'));
  }
}

const interval = (expected: number) => ({ low: expected * 0.8, expected, high: expected * 1.2 });

export const diagnosisAt = (at: string): Diagnosis => ({
  at,
  verdicts: [
    {
      cause: 'too-few-workers',
      evidence: { waiting: 0.45, workers: 2 },
      remedy: {
        change: { kind: 'workers', workers: 4 },
        where: 'script',
        text: 'load the data with 4 workers (num_workers=4)',
      },
      gain: { seconds: interval(1_900), dollars: interval(0.6) },
      also: [],
      unknown: [],
      next: undefined,
    },
  ],
});
