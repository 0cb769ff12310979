/** npm run bench:flood: thousands of objects for one pipeline, and a few for another, in a region that really runs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { type Region, startRegion } from '@tidewheel/emulators/region/region.ts';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import { marketScriptOf } from '@tidewheel/emulators/spot-market/script-option.ts';
import * as z from 'zod';
import { bucketKeys } from '../../functions/core/shared/keys.ts';

const USAGE = `npm run bench:flood -- [--objects N]

Starts a region with the limits of a new account (10 Lambda slots), drops N objects (default 5,000) for one pipeline, and
ten for another in the middle. Prints how long after its drop the other pipeline has a run, and what the API answered.
`;

const OBJECTS = 'give a whole number from 100 to 1000000';

const spec = {
  options: { objects: { type: 'string', default: '5000' } },
  schema: z.object({
    objects: z.coerce.number(OBJECTS).int(OBJECTS).min(100, OBJECTS).max(1_000_000, OBJECTS),
  }),
} as const;

const PROJECT_FOLDER = join(import.meta.dirname, '../..');
const WRITERS = 24;
const POLL_MILLISECONDS = 500;
const LIMIT_MILLISECONDS = 300_000;

/** It is quiet too late to train while the flood is measured. */
const declarationOf = (name: string) => `
name: ${name}
settle: { quietSeconds: 3600 }
training: { strategy: ddp }
compute: { instanceTypes: [g5.xlarge] }
`;

async function measure(objects: number): Promise<object> {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'tidewheel-flood-'));
  const region = await startRegion({
    projectFolder: PROJECT_FOLDER,
    stateDirectory,
    pythonPath: process.env['TIDEWHEEL_PYTHON'] ?? join(PROJECT_FOLDER, '.venv/bin/python'),
    market: marketScriptOf('demo'),
    limits: 'new-account',
    usesOtherPorts: true,
    log: () => undefined,
  });
  try {
    return await flood(region, objects);
  } finally {
    await region.close();
    await rm(stateDirectory, { recursive: true, force: true });
  }
}

async function flood(region: Region, objects: number): Promise<object> {
  const api = apiClient(region);
  for (const name of ['flood', 'other']) {
    const { status, body } = await api.call('PUT', `/pipelines/${name}`, declarationOf(name));
    if (status !== 200) throw new Error(`${name} was refused: ${JSON.stringify(body)}`);
  }
  const put = (pipeline: string, name: string) =>
    region.clients.s3.send(
      new PutObjectCommand({
        Bucket: region.stack.bucket,
        Key: bucketKeys.incoming(pipeline) + name,
        Body: 'x',
      }),
    );
  const began = Date.now();
  let next = 0;
  const write = async () => {
    for (let index = next++; index < objects; index = next++) await put('flood', `${index}.png`);
  };
  const writing = Promise.all(Array.from({ length: WRITERS }, write));
  while (next < objects / 2) await sleep(50);
  const answers = new Map<number, number>();
  const dropped = Date.now();
  for (let index = 0; index < 10; index += 1) await put('other', `${index}.png`);
  let otherSeconds: number | undefined;
  while ((next < objects || otherSeconds === undefined) && Date.now() - dropped < LIMIT_MILLISECONDS) {
    const { status, body } = await api.call('GET', '/pipelines/other/runs');
    answers.set(status, (answers.get(status) ?? 0) + 1);
    const { data } = z.object({ runs: z.array(z.unknown()).min(1) }).safeParse(body);
    if (data !== undefined) otherSeconds ??= (Date.now() - dropped) / 1_000;
    await sleep(POLL_MILLISECONDS);
  }
  await writing;
  const floodSeconds = (Date.now() - began) / 1_000;
  return {
    objects,
    putsASecond: Math.round(objects / floodSeconds),
    otherSeconds,
    answers: Object.fromEntries(answers),
  };
}

await runCommand(USAGE, async (args) => {
  const { objects } = readCommandLine(args, spec).values;
  process.stdout.write(`${JSON.stringify(await measure(objects), undefined, 2)}\n`);
  return 0;
});
