/** Functions that are up before their first invocation. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { CreateStateMachineCommand, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { expect, it } from 'vitest';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { createFunction, invoke } from './lambda.ts';

const NOTES = `
import { appendFileSync } from 'node:fs';
const note = (what) => appendFileSync(process.env.FILE, what + ' ');
note('initialised');
export const handler = async () => { note('invoked'); return {}; };`;

const emulator = emulatorOfSuite({ initialised: ['later'] });
const folder = folderOfSuite('proactive');
const fileOf = (name: string) => path.join(folder, name);
const notesOf = (name: string) => readFile(fileOf(name), 'utf8').catch(() => '');
const startExecution = async (name: string) => {
  const client = new SFNClient(clientConfiguration(emulator.url));
  const definition = JSON.stringify({ StartAt: 'Rest', States: { Rest: { Type: 'Succeed' } } });
  const { stateMachineArn } = await client.send(
    new CreateStateMachineCommand({ name, definition, roleArn: 'arn:aws:iam::000000000000:role/none' }),
  );
  await client.send(new StartExecutionCommand({ stateMachineArn, input: '{}' }));
};

it('initialises named functions when an execution starts', async () => {
  for (const name of ['stack-later', 'stack-other'])
    await createFunction(emulator.url, name, NOTES, { FILE: fileOf(name) });
  expect(await notesOf('stack-later')).toBe('');
  await startExecution('first');
  await expect.poll(() => notesOf('stack-later'), { timeout: 20_000 }).toBe('initialised ');
  // The same environment serves the invocation, and the next execution starts no other.
  await startExecution('second');
  await invoke(emulator.url, 'stack-later');
  expect(await notesOf('stack-later')).toBe('initialised invoked ');
  expect(await notesOf('stack-other')).toBe('');
});
