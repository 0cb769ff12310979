/** What a job downloads before its script starts: the data of its fullest host, in File mode. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import { channelDirectory, hostsOf, modeOf } from '../hosts/channels.ts';
import type { Host } from '../hosts/container.ts';

export const DOWNLOADING_DATA = 'Downloading input data';
export const DOWNLOADING_IMAGE = 'Downloading the training image';

/** FastFile and Pipe stream while the script runs, and file systems are mounted. */
export async function downloadedBytes(
  request: CreateTrainingJobRequest,
  hosts: readonly Host[],
): Promise<number> {
  const bytes = new Map<Host, number>();
  for (const channel of request.InputDataConfig ?? []) {
    if (modeOf(request, channel) !== 'File' || channel.DataSource?.FileSystemDataSource) continue;
    for (const host of hostsOf({ request, hosts }, channel))
      bytes.set(host, (bytes.get(host) ?? 0) + (await bytesBelow(channelDirectory(host, channel))));
  }
  return Math.max(0, ...bytes.values());
}

async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
