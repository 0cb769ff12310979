/**
 * `npm run test:clients [-- NAME…]`: clients that are not ours, unmodified, start a job on the local SageMaker, follow
 * its logs and see it end: once well, once failed. Then libraries that are not ours read sealed versions and give every
 * sample back. Their environments are installed at the first run.
 */
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { runProgram } from '../../cli/recipes/program.ts';
import { step } from '../../cli/setup/program.mjs';
import { CLIENTS, type Client, judge } from './clients.ts';
import { type EnvironmentName, environmentOf } from './environments/environments.ts';
import { BUCKET, type Ground, layGround } from './ground.ts';
import { READER_NAMES, READERS, type Reader } from './readers/readers.ts';
import { testReaders } from './readers/test-readers.ts';

const USAGE = `npm run test:clients [-- NAME...]
  ${CLIENTS.map(({ name, title }) => `${name.padEnd(8)} ${title}`).join('\n  ')}
  readers  libraries that read sealed versions, with a table; or some of them:
           ${READER_NAMES.join(', ')}
  Without a name all of them. The first run installs each into an environment of its own (about 1.5 GB for the
  clients, 9 GB for the readers; minutes).`;

/** A job takes seconds; SageMaker's SDKs look at it every ten, and v2 takes its time to end. */
const CLIENT_SECONDS = 240;
const OUTPUT_CHARACTERS = 4_000;

const NAMES: readonly string[] = [...CLIENTS.map(({ name }) => name), 'readers', ...READER_NAMES];

const print = (text: string): void => void process.stdout.write(`${text}\n`);

interface Tried {
  readonly client: Client;
  readonly isSpoilt: boolean;
}

class ClientFailure extends Error {
  override readonly name = 'ClientFailure';
}

/** @throws ClientFailure with what is wrong, when the client has not seen what it must */
async function run({ client, isSpoilt }: Tried, python: string, ground: Ground): Promise<void> {
  const job = `${client.name}-${isSpoilt ? 'fails' : 'ends'}-${process.pid}`;
  const title = `${client.title}: a job that ${isSpoilt ? 'fails' : 'completes'}`;
  await step(title, async (progress) => {
    const ended = await runProgram(python, [path.join(import.meta.dirname, client.script)], {
      seconds: CLIENT_SECONDS,
      environment: {
        ...ground.environment,
        CLIENT_BUCKET: BUCKET,
        CLIENT_JOB: job,
        CLIENT_JOB_IS_SPOILT: isSpoilt ? 'yes' : 'no',
      },
      onLine: (line) => progress.detail(line),
    });
    const problems = await judge(ended, { job, isSpoilt }, (uri) => ground.modelBytes(uri));
    if (problems.length === 0) return;
    const said = [problems.join('; '), ended.output.slice(-OUTPUT_CHARACTERS), ...ground.lines];
    throw new ClientFailure(said.join('\n'));
  });
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

async function testClients(clients: readonly Client[]): Promise<Counts> {
  const pythons = new Map<EnvironmentName, string>();
  for (const name of new Set<EnvironmentName>(['image', ...clients.map(({ environment }) => environment)])) {
    const make = (progress: { detail(text: string): void }) =>
      environmentOf(name, (line) => progress.detail(line));
    pythons.set(name, await step(`Python environment ${name}`, make));
  }
  const ground = await step('emulator and local SageMaker', () => layGround(pythons.get('image') ?? ''));
  const tries = clients.flatMap((client) => [false, true].map((isSpoilt): Tried => ({ client, isSpoilt })));
  let failed = 0;
  try {
    for (const tried of tries) {
      failed += await failuresOf(run(tried, pythons.get(tried.client.environment) ?? '', ground));
    }
  } finally {
    await ground.close();
  }
  return { passed: tries.length - failed, failed };
}

async function failuresOf(running: Promise<void>): Promise<number> {
  try {
    await running;
    return 0;
  } catch (error: unknown) {
    if (!(error instanceof ClientFailure)) throw error;
    print(error.message);
    return 1;
  }
}

async function main(args: readonly string[]): Promise<number> {
  const { positionals } = readCommandLine(args, {
    schema: z.object({}),
    positionals: ['NAME...'],
    check: (names) =>
      names
        .filter((name) => !NAMES.includes(name))
        .map((name) => `there is no client or reader "${name}": write ${NAMES.join(', ')}`),
  });
  const isNamed = ({ name }: Client | Reader): boolean =>
    positionals.length === 0 || positionals.includes(name);
  const clients = CLIENTS.filter(isNamed);
  const readers = READERS.filter((reader) => positionals.includes('readers') || isNamed(reader));
  const none: Counts = { passed: 0, failed: 0 };
  const called = clients.length > 0 ? await testClients(clients) : none;
  const read = readers.length > 0 ? await testReaders(readers, print) : none;
  const failed = called.failed + read.failed;
  print(`\n${called.passed + read.passed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

await runCommand(USAGE, main);
