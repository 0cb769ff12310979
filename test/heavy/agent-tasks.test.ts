/** Twenty tasks that a coding agent gets, done by a scripted client of `tidewheel mcp` in a region that trains. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { environmentFor } from '@tidewheel/emulators/region/clients.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { demoDeclaration } from '../../cli/demo/demo.ts';
import { putTyped, TYPED } from '../e2e/typed.ts';
import { finishedRun, PROJECT_FOLDER, startTestRegion, type TestRegion } from '../support/region.ts';

const FENCE_USD = 20;
const OPEN = `${TYPED}-000002`;
const TRAINED = `${TYPED}-000001`;
const SCRIPT = 'import torch, os\ntorch.save({}, os.path.join(os.environ["SM_MODEL_DIR"], "m.pt"))\n';
const LOOK_MILLISECONDS = 200;
const LOOKS = 300;

type Given = Readonly<Record<string, unknown>>;

interface Answer {
  readonly isError: boolean;
  readonly text: string;
  /** The document inside of the mark. */
  readonly says: unknown;
}

interface Agent {
  /** @throws Error where the tool refuses */
  readonly use: (tool: string, given?: Given) => Promise<Answer>;
  /** The dry run, then the call. */
  readonly confirm: (tool: string, given: Given) => Promise<Answer>;
  /** As a refusal, which is the task. */
  readonly refused: (tool: string, given: Given) => Promise<string>;
  readonly folder: string;
}

const content = z.array(z.object({ text: z.string() })).min(1);

async function answerOf(client: Client, tool: string, given: Given): Promise<Answer> {
  const answer = await client.callTool({ name: tool, arguments: given });
  const text = content.parse(answer['content'])[0]?.text ?? '';
  const [, , inside = ''] = /<(data-\w+)>\n([^]*)\n<\/\1>/.exec(text) ?? [];
  let says: unknown = inside;
  try {
    says = JSON.parse(inside);
  } catch {
    // A sentence.
  }
  return { isError: answer['isError'] === true, text, says };
}

function agentOf(client: Client, folder: string): Agent {
  const use = async (tool: string, given: Given = {}): Promise<Answer> => {
    const answer = await answerOf(client, tool, given);
    if (answer.isError) throw new Error(`${tool}: ${answer.text}`);
    return answer;
  };
  const confirm = async (tool: string, given: Given): Promise<Answer> => {
    const [, code] = /confirm: "(\w+)"/.exec((await use(tool, given)).text) ?? [];
    return use(tool, { ...given, confirm: code });
  };
  const refused = async (tool: string, given: Given): Promise<string> => {
    const [, code] = /confirm: "(\w+)"/.exec((await answerOf(client, tool, given)).text) ?? [];
    const answer = await answerOf(client, tool, { ...given, confirm: code });
    return answer.isError ? answer.text : '';
  };
  return { use, confirm, refused, folder };
}

const runIn = z.object({ run: z.object({ status: z.string() }), attempts: z.array(z.unknown()) });

/** Looks until the run is so. */
async function until({ use }: Agent, runId: string, isSo: (run: z.output<typeof runIn>) => boolean) {
  for (let look = 0; look < LOOKS; look += 1) {
    const run = runIn.parse((await use('getRun', { runId })).says);
    if (isSo(run)) return true;
    await sleep(LOOK_MILLISECONDS);
  }
  return false;
}

type Task = (agent: Agent) => Promise<boolean>;

/** @throws Error with what is there instead */
function has({ text }: Answer, ...wanted: readonly string[]): boolean {
  const lacking = wanted.filter((each) => !text.includes(each));
  if (lacking.length > 0) throw new Error(`it lacks ${lacking.join(', ')}: ${text.slice(0, 1_500)}`);
  return true;
}
const declared = z.object({ declaration: z.string() });
const begins = { training: { startFrom: 'none' }, limits: { budgetUsd: 6 } };

const TASKS: Readonly<Record<string, Task>> = {
  'write a declaration for this folder': async ({ use, folder }) => {
    await use('init', { name: 'fresh' });
    return (await readFile(join(folder, 'tidewheel.yaml'), 'utf8')).includes('name: fresh');
  },
  'say what is wrong with a declaration': async ({ use, folder }) => {
    await writeFile(join(folder, 'bad.yaml'), 'name: x\ntraining: { strategy: sinlge }\n');
    const answer = await use('check', { file: 'bad.yaml' }).catch((error: unknown) => String(error));
    return typeof answer === 'string' && answer.includes('training.strategy');
  },
  'check that it is valid': async ({ use }) =>
    has(await use('check', { file: 'tidewheel.yaml' }), '"valid": true'),
  'declare it, with a budget within the fence': async ({ confirm, folder }) => {
    const file = join(folder, 'tidewheel.yaml');
    const text = (await readFile(file, 'utf8')).replace(/budgetUsd: \d+/, 'budgetUsd: 4');
    await writeFile(file, text);
    return has(await confirm('apply', { file: 'tidewheel.yaml' }), '"declaration": "new"');
  },
  'correct a declaration': async ({ use, confirm }) => {
    const { declaration } = declared.parse((await use('getPipeline', { name: 'fresh' })).says);
    const yaml = declaration.replace(/deadlineHours: \d+/, 'deadlineHours: 9');
    await confirm('putPipeline', { name: 'fresh', yaml });
    return has(await use('getPipeline', { name: 'fresh' }), 'deadlineHours: 9');
  },
  'say what a run would cost': async ({ use }) =>
    has(await use('planRun', { body: { pipeline: 'fresh', data: { files: 100, bytes: 1e6 } } }), 'mostUsd'),
  'start a run with other settings': async ({ confirm }) =>
    has(await confirm('startRun', { name: TYPED, body: begins }), OPEN),
  'start nothing beyond the fence': async ({ refused }) =>
    (await refused('startRun', { name: 'fresh', body: { limits: { budgetUsd: FENCE_USD } } })).includes(
      `the fence of $${FENCE_USD}.00 leaves`,
    ),
  'change the deadline of an open run': async (agent) => {
    await until(agent, OPEN, ({ attempts }) => attempts.length > 0);
    await agent.confirm('putLimits', { runId: OPEN, body: { deadlineHours: 5 } });
    return has(await agent.use('getRun', { runId: OPEN }), '"deadlineHours": 5');
  },
  'say why it trains there': async ({ use }) =>
    has(await use('getPlacement', { runId: OPEN, attempt: '1' }), '"considered"'),
  'foresee another deadline': async ({ use }) =>
    has(await use('getWhatIf', { runId: OPEN, attempt: '1', deadlineHours: 50 }), '"placement"'),
  'stop a run, after a dry run': async (agent) => {
    await agent.confirm('stopRun', { runId: OPEN, body: { mode: 'now' } });
    return until(agent, OPEN, ({ run }) => run.status === 'stopped');
  },
  'let it continue': async (agent) => {
    await agent.confirm('retryRun', { runId: OPEN });
    await agent.confirm('stopRun', { runId: OPEN });
    return until(agent, OPEN, ({ run }) => run.status === 'stopped');
  },
  'read what a script printed': async ({ use }) => has(await use('getLog', { runId: TRAINED }), 'GOT'),
  'find why a run is slow': async ({ use }) =>
    has(await use('getUtilisation', { runId: TRAINED }), '"verdicts"'),
  'find why a run failed': async ({ use }) => {
    const list = await use('listRuns', { status: 'failed', limit: 5 });
    return has(list, 'broken-000001') && has(await use('getRun', { runId: 'broken-000001' }), 'training');
  },
  'compare two runs': async ({ use }) =>
    has(await use('compareRuns', { runs: `${TRAINED},${OPEN}` }), TRAINED, 'costUsd'),
  'sum up the money of the month': async ({ use }) => has(await use('getMoney'), '"byPipeline"', TYPED),
  'note and tag a run': async ({ use }) => {
    await use('annotateRun', { runId: TRAINED, body: { note: 'the first', tags: ['baseline'] } });
    return has(await use('listRuns', { where: 'tag:baseline' }), TRAINED);
  },
  'take a pipeline down': async ({ confirm, use }) => {
    await confirm('deletePipeline', { name: 'fresh' });
    return !(await use('listPipelines')).text.includes('"fresh"');
  },
};

interface Done {
  readonly task: string;
  readonly isDone: boolean;
  readonly why?: string;
}

async function playAll({ region }: TestRegion): Promise<readonly Done[]> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-tasks-'));
  await writeFile(join(folder, 'train.py'), SCRIPT);
  const client = new Client({ name: 'scripted', version: '1' });
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    ...environmentFor(region.endpoints, region.credentials),
  };
  const args = [join(PROJECT_FOLDER, 'cli/tidewheel.mjs'), 'mcp', '--max-usd', String(FENCE_USD)];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    env,
    cwd: folder,
    stderr: 'ignore',
  });
  try {
    await client.connect(transport);
    const agent = agentOf(client, folder);
    const done: Done[] = [];
    for (const [task, act] of Object.entries(TASKS))
      done.push(
        await act(agent).then(
          (isDone) => ({ task, isDone }),
          (error: unknown) => ({ task, isDone: false, why: String(error) }),
        ),
      );
    return done;
  } finally {
    await client.close();
    await rm(folder, { recursive: true });
  }
}

let test: TestRegion;

beforeAll(async () => {
  test = await startTestRegion('demo:2');
  const { clients, stack } = test.region;
  const api = apiClient(test.region);
  const digits = await demoDeclaration(PROJECT_FOLDER, await defaultVpc(clients.ec2));
  await api.call('PUT', `/pipelines/${TYPED}`, await putTyped(clients.s3, stack.bucket, digits));
  await api.call('POST', `/pipelines/${TYPED}/runs`);
  const put = (Key: string, Body: string) =>
    clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body }));
  await put('pipelines/broken.yaml', 'name: broken\nsettle: {quietSeconds: 1}\n');
  await put('broken/incoming/a.txt', 'data');
  await Promise.all([TRAINED, 'broken-000001'].map((runId) => finishedRun(api, runId)));
}, 500_000);

afterAll(() => test.stop());

it('does twenty tasks within its fence', async () => {
  const done = await playAll(test);
  expect(done).toHaveLength(20);
  expect(done.filter(({ isDone }) => !isDone)).toEqual([]);
});
