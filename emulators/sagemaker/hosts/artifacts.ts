/** What the hosts leave behind: model and output, packed and uploaded to the job's output path. */
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, readdir, readlink, realpath, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { S3Client } from '@aws-sdk/client-s3';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import tar from 'tar-stream';
import { transferFailure } from '../model/refusals.ts';
import type { Host } from './container.ts';
import { keyBelow, parseS3Uri, type S3Location, uploadFile } from './objects.ts';
import { followOutside } from './opt-ml.ts';

export interface ArtifactContext {
  readonly s3: S3Client;
  readonly jobName: string;
  readonly outputPath: string;
  readonly compression: 'GZIP' | 'NONE';
  readonly hosts: readonly Host[];
  /** For the archive before it is uploaded. */
  readonly scratchDirectory: string;
}

export type ArtifactKind = 'model' | 'output';

const CONCURRENT_UPLOADS = 8;
const FOLDERS: Readonly<Record<ArtifactKind, readonly string[]>> = {
  model: ['model'],
  output: ['output', 'data'],
};

/** Where a job's artifact lies in S3. */
function artifactUri(
  outputPath: string,
  jobName: string,
  kind: ArtifactKind,
  compression: 'GZIP' | 'NONE',
): string {
  const folder = `${outputPath.replace(/\/+$/, '')}/${jobName}/output/`;
  return compression === 'GZIP' ? `${folder}${kind}.tar.gz` : `${folder}${kind}/`;
}

/** The URIs of what was uploaded; throws a JobFailure. */
export async function uploadArtifacts(
  context: ArtifactContext,
  kinds: readonly ArtifactKind[],
): Promise<Partial<Record<ArtifactKind, string>>> {
  try {
    const uris: Partial<Record<ArtifactKind, string>> = {};
    for (const kind of kinds) {
      const uri = await uploadArtifact(context, kind);
      if (uri !== undefined) uris[kind] = uri;
    }
    return uris;
  } catch (error) {
    throw transferFailure('Artifact upload failed', error);
  }
}

/** Uploads the merged folder of all hosts; its URI, or undefined when there was nothing and nothing was uploaded. */
async function uploadArtifact(context: ArtifactContext, kind: ArtifactKind): Promise<string | undefined> {
  const files = await mergedFiles(context.hosts, FOLDERS[kind]);
  if (files.size === 0 && kind === 'output') return undefined;
  const uri = artifactUri(context.outputPath, context.jobName, kind, context.compression);
  const location = parseS3Uri(uri);
  if (context.compression === 'GZIP') await uploadArchive(context, kind, files, location);
  else {
    await eachLimited([...files], CONCURRENT_UPLOADS, async ([path, file]) => {
      // S3 has no links: a linked folder is there under its own name.
      if ((await stat(file)).isFile())
        await uploadFile(context.s3, file, { bucket: location.bucket, key: keyBelow(location.key, path) });
    });
  }
  return uri;
}

/** All hosts' files by relative path. Of files with one name the first host's is kept: SageMaker leaves that open. */
async function mergedFiles(
  hosts: readonly Host[],
  folder: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const host of hosts) {
    const root = join(host.base, ...folder);
    for (const path of await filesBelow(root, host.base))
      if (!files.has(path)) files.set(path, await followOutside(join(root, path), host.base));
  }
  return new Map([...files].toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

async function filesBelow(root: string, base: string, folder = ''): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) found.push(...(await filesBelow(root, base, path)));
    else if (entry.isFile() || (entry.isSymbolicLink() && (await leadsInside(root, join(root, path), base))))
      found.push(path);
  }
  return found;
}

/** A link that leads out of the folder would publish a file of this machine. */
async function leadsInside(root: string, path: string, base: string): Promise<boolean> {
  try {
    const [folder, target] = await Promise.all([realpath(root), realpath(await followOutside(path, base))]);
    return target.startsWith(`${folder}/`);
  } catch {
    return false;
  }
}

async function uploadArchive(
  context: ArtifactContext,
  kind: ArtifactKind,
  files: ReadonlyMap<string, string>,
  location: S3Location,
): Promise<void> {
  const archive = join(context.scratchDirectory, `${kind}.tar.gz`);
  const pack = tar.pack();
  const written = pipeline(pack, createGzip(), createWriteStream(archive));
  const filled = fill(pack, files).catch((error: unknown) => {
    pack.destroy(error instanceof Error ? error : new Error(String(error)));
    throw error;
  });
  await Promise.all([filled, written]);
  await uploadFile(context.s3, archive, location);
  await rm(archive, { force: true });
}

async function fill(pack: tar.Pack, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, file] of files) {
    const { size, mtime, mode, isLink } = await stateOf(file);
    if (isLink) {
      pack.entry({ name, mtime, type: 'symlink', linkname: await linkOf(file) });
      continue;
    }
    await pipeline(createReadStream(file), pack.entry({ name, size, mtime, mode: mode & 0o777 }));
  }
  pack.finalize();
}

async function stateOf(file: string) {
  const found = await lstat(file);
  const { size, mtime, mode } = found;
  return { size, mtime, mode, isLink: found.isSymbolicLink() };
}

/** Relative, so that it leads to the same file where the archive is unpacked. */
async function linkOf(file: string): Promise<string> {
  const target = await readlink(file);
  return isAbsolute(target) ? relative(await realpath(dirname(file)), await realpath(target)) : target;
}
