/** Publishes the agent and the hooks: Python files of the function's package as zips, once per content. */

import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import {
  AGENT_FILE,
  AGENT_FILES,
  type AgentFile,
  bucketKeys,
  HOOK_FILES,
} from '@tidewheel/contract/bucket-keys.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { zipOf } from '@tidewheel/kit/zip.ts';

/** Folders of training/ that serverless.yml packs. */
const FOLDERS: Readonly<Record<AgentFile, string>> = {
  [AGENT_FILE]: 'agent',
  [HOOK_FILES.automatic]: 'automatic',
  [HOOK_FILES.instrument]: 'instrument',
};

/**
 * @param codeFolder the folder that holds the function's unpacked package (LAMBDA_TASK_ROOT)
 * @returns a function that returns the key prefix of the files, which contains nothing else
 */
export function agentPublisher(
  store: ObjectStore,
  codeFolder: string,
): (files: readonly AgentFile[]) => Promise<string> {
  // A function's package stays the same while it lives.
  const packed = new Map<AgentFile, Buffer>();
  const archiveOf = async (file: AgentFile): Promise<Buffer> => {
    const archive = packed.get(file) ?? (await packAgent(codeFolder, file));
    packed.set(file, archive);
    return archive;
  };
  return async (files) => {
    const archives = await Promise.all(files.map(archiveOf));
    const hash = createHash('sha256');
    for (const archive of archives) hash.update(archive);
    const prefix = bucketKeys.agent(hash.digest('hex').slice(0, 16));
    // Content-addressed, so an earlier writer wrote the same bytes.
    const missing = new Map(archives.map((archive, index) => [`${prefix}${files[index]}`, archive]));
    for await (const { key } of store.list(prefix)) missing.delete(key);
    for (const [key, archive] of missing) await store.createBytes(key, archive);
    return prefix;
  };
}

/** Writes the agent to a file, and the hooks beside it, where the agent looks for them. */
export async function writeAgent(codeFolder: string, file: string): Promise<void> {
  for (const each of AGENT_FILES) {
    const path = each === AGENT_FILE ? file : join(dirname(file), each);
    await writeFile(path, await packAgent(codeFolder, each));
  }
}

/**
 * For the agent a zip with a __main__.py, as https://docs.python.org/3/library/zipapp.html describes it. What the packager
 * has compiled lies beside the source, where Python looks first: https://docs.python.org/3/library/zipimport.html
 */
async function packAgent(codeFolder: string, file: AgentFile): Promise<Buffer> {
  const folder = join(codeFolder, 'training', FOLDERS[file]);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => path.endsWith('.py') || COMPILED.test(path));
  if (!paths.some((path) => path.endsWith('.py')))
    throw new ConfigurationError(`no ${file} in the package: ${folder} holds no .py files`);
  const files = new Map(paths.map((path) => [nameInZip(relative(folder, path)), path]));
  // Of a source that is gone: Python would import it.
  for (const name of files.keys())
    if (name.endsWith('.pyc') && !files.has(name.slice(0, -1))) files.delete(name);
  return zipOf(
    await Promise.all([...files].map(async ([name, path]) => ({ name, bytes: await readFile(path) }))),
  );
}

const nameInZip = (path: string): string => path.replace(COMPILED, '$1.pyc').split(sep).join('/');

const COMPILED = /__pycache__[\\/]([^\\/.]+)\.[^\\/]+\.pyc$/;
