/** A command that finds no region in a state folder, or a damaged file, says what to do. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { controlClient } from '../../../region/control-client.ts';
import { CONTROL_FILE } from '../../../region/control-server.ts';

let state: string;

beforeEach(() => {
  state = folderOfTest('control');
});

it('says that no region is up', async () => {
  await expect(controlClient(state)).rejects.toThrow(`no region is up in ${state}: start one`);
});

it.each(['', '{', '{}', '{"url":"nowhere"}', 'null'])(
  'names the damaged file that holds %j',
  async (text) => {
    await writeFile(join(state, CONTROL_FILE), text);
    await expect(controlClient(state)).rejects.toThrow(
      `${join(state, CONTROL_FILE)} is damaged: end that region's \`npm start\`, and start it again`,
    );
  },
);

it('says the same of a region that was killed', async () => {
  await writeFile(join(state, CONTROL_FILE), '{"url":"http://127.0.0.1:1"}');
  const client = await controlClient(state);
  await expect(client.running()).rejects.toThrow(`no region is up in ${state}: start one`);
});
