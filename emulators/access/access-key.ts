/** The access key of one region on this machine. Its servers answer this key alone, so two regions never take each other's clients. */

import { randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from '@tidewheel/kit/errors.ts';
import { readIfThere } from '@tidewheel/kit/files.ts';
import * as z from 'zod';

export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** In the state folder of a region. */
export const ACCESS_KEY_FILE = 'access-key.json';

const OWNER_ONLY = 0o600;
/** As long as AWS's own, which some clients check: 20 and 40 characters. */
const ID_PREFIX = 'LOCAL';
const ID_BYTES = 15;
const SECRET_BYTES = 40;
/** Letters and digits only: nothing to quote in a shell, an URL or a header. Its length divides 256, so each is equally likely. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

const schema = z.object({
  accessKeyId: z.string().regex(/^\w{16,128}$/),
  secretAccessKey: z.string().min(1),
});

const text = (bytes: number): string =>
  Array.from(randomBytes(bytes), (byte) => ALPHABET[byte % ALPHABET.length]).join('');

const makeAccessKey = (): AccessKey => ({
  accessKeyId: ID_PREFIX + text(ID_BYTES),
  secretAccessKey: text(SECRET_BYTES),
});

/** The variables in which every AWS client looks for its key. */
export const keyVariables = ({ accessKeyId, secretAccessKey }: AccessKey): Record<string, string> => ({
  AWS_ACCESS_KEY_ID: accessKeyId,
  AWS_SECRET_ACCESS_KEY: secretAccessKey,
});

/**
 * The key in the file. The first call makes it, readable for its owner only.
 * @throws Error when the file holds no key
 */
export async function accessKeyIn(file: string): Promise<AccessKey> {
  const content = await readIfThere(file);
  if (content !== undefined) return parse(file, content);
  await mkdir(dirname(file), { recursive: true });
  const own = `${file}.${randomUUID()}`;
  await writeFile(own, `${JSON.stringify(makeAccessKey())}\n`, { mode: OWNER_ONLY });
  try {
    // A link appears whole or not at all: of two starts at once, both take the first one's key.
    await link(own, file);
  } catch (error: unknown) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(own, { force: true });
  }
  return parse(file, await readFile(file, 'utf8'));
}

function parse(file: string, content: string): AccessKey {
  try {
    return schema.parse(JSON.parse(content));
  } catch (cause: unknown) {
    throw new Error(`${file} holds no access key: remove it, and the next start makes another`, { cause });
  }
}
