/**
 * Projects of people who train with the SageMaker SDK, brought as they are: `init` reads their launch script, the run is
 * interrupted twice, and its model is that of an undisturbed run.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Brought, trainInterrupted, trainUndisturbed } from '../support/brought-project.ts';
import { pythonTools } from '../support/python-tools.ts';
import { PYTHON, startTestRegion, type TestRegion } from '../support/region.ts';
import { NETWORK_PROJECTS, TABLE_PROJECTS } from '../support/sagemaker-frameworks.ts';
import { CHURN_TABLES, SAGEMAKER_PROJECTS } from '../support/sagemaker-projects.ts';

const { text, churn, segmentation } = SAGEMAKER_PROJECTS;
const PROJECTS: readonly Brought[] = [
  {
    name: 'text',
    files: text,
    round: /'loss': .*'epoch': '?([\d.]+)/,
    rounds: 22,
    model: 'model.safetensors',
  },
  {
    name: 'churn',
    files: { ...churn, ...CHURN_TABLES },
    round: /^\[(\d+)\]\s+train-/,
    rounds: 200,
    model: 'model.json',
  },
  { name: 'segmentation', files: segmentation, round: /^epoch (\d+): /, rounds: 30, model: 'model.pt' },
  ...NETWORK_PROJECTS,
  ...TABLE_PROJECTS,
];

let test: TestRegion;
let home = '';

beforeAll(async () => {
  const file = path.join(import.meta.dirname, 'requirements.txt');
  const tools = await pythonTools({ name: 'projects', file, below: PYTHON });
  test = await startTestRegion('calm', path.join(tools, 'bin/python'));
  home = await mkdtemp(path.join(tmpdir(), 'brought-'));
}, 900_000);

afterAll(async () => {
  await test.stop();
  await rm(home, { recursive: true, force: true });
});

it.concurrent.each(PROJECTS)(
  '$name ends as it does undisturbed',
  async (project) => {
    const interrupted = await trainInterrupted(test, home, project);
    expect(interrupted).toBe(await trainUndisturbed(test, home, project));
  },
  1_800_000,
);
