/** Which declaration a person names. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { declarationAt } from '../../../../cli/command/declared.ts';
import { terminalOf } from '../../../../cli/command/terminal.ts';
import { VERBS } from '../../../../cli/verbs.ts';
import { folderOfTest } from '../../../support/folders.ts';

let folder: string;

beforeEach(async () => {
  folder = folderOfTest('declared');
  await mkdir(path.join(folder, 'pets'));
  await writeFile(path.join(folder, 'pets/tidewheel.yaml'), 'name: pets\n');
});

it.each(['pets/tidewheel.yaml', 'pets', 'pets/', './pets'])('is found as %s', async (given) => {
  expect(await declarationAt(folder, given)).toMatchObject({
    name: 'pets',
    folder: path.join(folder, 'pets'),
  });
});

it.each([
  ['cats', 'there is no file'],
  ['.', 'there is no file'],
])('is missing as %s', async (given, words) => {
  await expect(declarationAt(folder, given)).rejects.toThrow(words);
});

it('is checked by its folder', async () => {
  const said: string[] = [];
  const terminal = { ...terminalOf(process, {}), problem: (text: string) => void said.push(text) };
  const { verb } = await VERBS.check();
  const code = await verb.invoke(['pets'], { terminal, folder, environment: {}, clone: undefined });
  expect(said.join('\n')).toContain('tidewheel.yaml: compute');
  expect(code).toBe(1);
});

it('is checked with the channels that its script reads', async () => {
  await writeFile(
    path.join(folder, 'pets/tidewheel.yaml'),
    'name: pets\ntraining: { strategy: single }\ncompute: { instanceTypes: [g5.xlarge] }\n',
  );
  await writeFile(path.join(folder, 'pets/train.py'), 'x = os.environ["SM_CHANNEL_TEST"]');
  const said: string[] = [];
  const terminal = { ...terminalOf(process, {}), print: (text: string) => void said.push(text) };
  const { verb } = await VERBS.check();
  await verb.invoke(['pets'], { terminal, folder, environment: {}, clone: undefined });
  expect(said.join('\n')).toContain('train.py reads SM_CHANNEL_TEST, and no channel test is declared');
});
