/** Delivers the agent: the Python files that lie in the function's package go to the bucket, once per content. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { ConfigurationError } from '../core/errors.ts';
import { layout } from '../core/layout.ts';
import type { ObjectStore } from '../core/ports.ts';

/** Where serverless.yml packs the agent, relative to the function's code. */
const AGENT_FOLDER = join('training', 'agent');

/**
 * @param codeFolder the folder that holds the function's unpacked package (LAMBDA_TASK_ROOT)
 * @returns a function that answers the key prefix under which the agent's files lie
 */
export function agentPublisher(store: ObjectStore, codeFolder: string): () => Promise<string> {
  return async () => {
    const files = await readAgent(join(codeFolder, AGENT_FOLDER));
    const prefix = layout.agent(digestOf(files));
    // Content-addressed, so whoever writes first wrote the same.
    await Promise.all(files.map(async ({ name, text }) => store.createText(prefix + name, text)));
    return prefix;
  };
}

interface AgentFile {
  readonly name: string;
  readonly text: string;
}

async function readAgent(folder: string): Promise<AgentFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.py'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  if (paths.length === 0)
    throw new ConfigurationError(`no agent in the package: ${folder} holds no .py files`);
  return Promise.all(
    paths.map(async (path) => ({
      name: relative(folder, path).split(sep).join('/'),
      text: await readFile(path, 'utf8'),
    })),
  );
}

function digestOf(files: readonly AgentFile[]): string {
  const hash = createHash('sha256');
  for (const { name, text } of files) hash.update(`${name}\n${text.length}\n${text}`);
  return hash.digest('hex').slice(0, 16);
}
