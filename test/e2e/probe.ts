/** A probe of the digits on one host and on two, as a person types it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ApiClient } from '@tidewheel/emulators/region/api-client.ts';
import { expect } from 'vitest';
import { PROJECT_FOLDER, type TestRegion } from '../support/region.ts';

const run = promisify(execFile);

export const RUNS = 'as before';

/** Needs a packed dataset. @returns what became of the list of runs */
export async function probed(
  { stateDirectory }: Pick<TestRegion, 'stateDirectory'>,
  api: ApiClient,
): Promise<string> {
  const before = await api.call('GET', '/pipelines/digits/runs');
  const words = ['--vary', 'compute.nodes=1,2', '--vary', 'compute.purchaseOption=on-demand'];
  const limits = ['--steps', '25', '--budget', '1', '--json', '--state', stateDirectory];
  const { stdout } = await run(
    process.execPath,
    ['cli/tidewheel.mjs', 'probe', 'digits', ...words, ...limits],
    {
      cwd: PROJECT_FOLDER,
    },
  );
  const speed = { basis: 'hooks', stepSeconds: { mean: expect.any(Number) as number } };
  expect(JSON.parse(stdout)).toMatchObject({
    cells: [
      { runId: 'digits-probe-000001', status: 'succeeded', speed: { ...speed, hosts: 1 } },
      { runId: 'digits-probe-000002', status: 'succeeded', speed: { ...speed, hosts: 2 } },
    ],
    leftOut: [],
    verdict: { unit: 'samples' },
  });
  const after = await api.call('GET', '/pipelines/digits/runs');
  return JSON.stringify(after) === JSON.stringify(before) ? RUNS : JSON.stringify(after);
}
