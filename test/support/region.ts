/** A region of its own for a test: free ports, its own state, gone afterwards. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ApiClient } from '@tidewheel/emulators/region/api-client.ts';
import { environmentFor } from '@tidewheel/emulators/region/clients.ts';
import { type Region, startRegion } from '@tidewheel/emulators/region/region.ts';
import { marketScriptOf } from '@tidewheel/emulators/spot-market/script-option.ts';
import { isFinished } from '../../client/run-view.ts';
import type { RunReport } from '../../functions/run/attempts/make-report.ts';

export const PROJECT_FOLDER = join(import.meta.dirname, '../..');
export const PYTHON = process.env['TIDEWHEEL_PYTHON'] ?? join(PROJECT_FOLDER, '.venv/bin/python');

export interface TestRegion {
  readonly region: Region;
  readonly stateDirectory: string;
  stop(): Promise<void>;
}

/** @param pythonPath the Python of the emulators and of all hosts */
export async function startTestRegion(market = 'demo', pythonPath = PYTHON): Promise<TestRegion> {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'tidewheel-e2e-'));
  const region = await startRegion({
    projectFolder: PROJECT_FOLDER,
    stateDirectory,
    pythonPath,
    market: marketScriptOf(market),
    graceSeconds: 30,
    log: () => undefined,
  });
  const stop = async () => {
    await region.close();
    await rm(stateDirectory, { recursive: true, force: true });
  };
  return { region, stateDirectory, stop };
}

/** The command line of this clone against the region; answers what it prints. */
export async function tidewheelIn(
  { region: { endpoints, credentials, stack } }: TestRegion,
  home: string,
  words: readonly string[],
): Promise<string> {
  const environment = { ...environmentFor(endpoints, credentials), TIDEWHEEL_TABLE: stack.table };
  const { stdout } = await promisify(execFile)(process.execPath, ['cli/tidewheel.mjs', ...words], {
    cwd: PROJECT_FOLDER,
    env: { PATH: process.env['PATH'], HOME: home, ...environment },
  });
  return stdout;
}

const POLL_MILLISECONDS = 500;
const LIMIT_MILLISECONDS = 500_000;

/** Asks the API until the run's report is there. */
export async function finishedRun(api: ApiClient, runId: string): Promise<RunReport> {
  const until = Date.now() + LIMIT_MILLISECONDS;
  let last: unknown;
  while (Date.now() < until) {
    const { body } = await api.call('GET', `/runs/${runId}`);
    last = body;
    const { run } = body as { run?: { status: string } };
    if (run !== undefined && isFinished(run)) {
      const report = await api.call('GET', `/runs/${runId}/report`);
      if (report.status === 200) return report.body as RunReport;
    }
    await sleep(POLL_MILLISECONDS);
  }
  throw new Error(`${runId} has no report after ${LIMIT_MILLISECONDS / 1000} s: ${JSON.stringify(last)}`);
}
