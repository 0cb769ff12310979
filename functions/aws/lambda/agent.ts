/** Publishes the agent: the Python files of the function's package as one file that Python runs, once per content. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { zipOf } from '@tidewheel/kit/zip.ts';
import { AGENT_FILE, bucketKeys } from '../../core/shared/keys.ts';
import type { ObjectStore } from '../../core/shared/ports.ts';

/** Where serverless.yml packs the agent, relative to the function's code. */
const AGENT_FOLDER = join('training', 'agent');

/**
 * @param codeFolder the folder that holds the function's unpacked package (LAMBDA_TASK_ROOT)
 * @returns a function that returns the agent's key prefix, which contains nothing else
 */
export function agentPublisher(store: ObjectStore, codeFolder: string): () => Promise<string> {
  return async () => {
    const archive = await packAgent(codeFolder);
    const prefix = bucketKeys.agent(createHash('sha256').update(archive).digest('hex').slice(0, 16));
    // Content-addressed, so an earlier writer wrote the same bytes.
    await store.createBytes(prefix + AGENT_FILE, archive);
    return prefix;
  };
}

/** A zip with a __main__.py, as https://docs.python.org/3/library/zipapp.html describes it. */
export async function packAgent(codeFolder: string): Promise<Buffer> {
  const folder = join(codeFolder, AGENT_FOLDER);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.py'))
    .map((entry) => join(entry.parentPath, entry.name));
  if (paths.length === 0)
    throw new ConfigurationError(`no agent in the package: ${folder} holds no .py files`);
  const files = paths.map(async (path) => ({
    name: relative(folder, path).split(sep).join('/'),
    bytes: await readFile(path),
  }));
  return zipOf(await Promise.all(files));
}
