/** Which files of a folder were uploaded, in this call or an earlier one: a line each, so that a kill costs at most one. */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type TakenFiles, takenFiles } from '../serve/taken-files.ts';

interface JournalPlace {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of one drop: bucket, pipeline and folder. */
  readonly of: readonly string[];
}

/** In the user's state folder (https://specifications.freedesktop.org/basedir-spec/latest), so that the data's own folder stays as it is. */
export async function openJournal({ environment, of }: JournalPlace): Promise<TakenFiles> {
  const home = environment['XDG_STATE_HOME'] || path.join(environment['HOME'] ?? '.', '.local', 'state');
  const folder = path.join(home, 'tidewheel', 'drops');
  await mkdir(folder, { recursive: true });
  const name = createHash('sha256').update(JSON.stringify(of)).digest('hex').slice(0, 32);
  return takenFiles(path.join(folder, `${name}.jsonl`));
}
