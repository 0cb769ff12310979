/** Two projects of people who train with the SageMaker SDK, brought as they are. The other six are in `heavy/`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { trainByHand, trainInterrupted } from '../support/brought-project.ts';
import { pythonTools } from '../support/python-tools.ts';
import { PYTHON, startTestRegion, type TestRegion } from '../support/region.ts';
import { TABLE_PROJECTS } from '../support/sagemaker-frameworks.ts';

let test: TestRegion;
let home = '';
let python = '';

beforeAll(async () => {
  const file = path.join(import.meta.dirname, 'requirements.txt');
  const tools = await pythonTools({ name: 'tables', file, below: PYTHON });
  python = path.join(tools, 'bin/python');
  test = await startTestRegion('calm', python);
  home = await mkdtemp(path.join(tmpdir(), 'brought-'));
}, 240_000);

afterAll(async () => {
  await test.stop();
  await rm(home, { recursive: true, force: true });
});

it.concurrent.each(TABLE_PROJECTS)(
  '$name ends as it does by hand',
  async (project) => {
    const interrupted = await trainInterrupted(test, home, project);
    expect(interrupted).toBe(await trainByHand(python, home, project));
  },
  600_000,
);
