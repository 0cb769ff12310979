/** The demo: the digits pipeline, its source and its images, put into the bucket as a user would. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HeadObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { DEFAULT_LAUNCHER, type DeclaredLauncher } from '@tidewheel/declaration/launchers.ts';
import type { DefaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { filesBelow } from '@tidewheel/kit/files.ts';
import { parse, stringify } from 'yaml';
import { digitImages } from './digits.ts';

export const DEMO_PIPELINE = 'digits';

/** Uploads at once; the emulator is one process. */
const UPLOADS = 16;
export const DIGITS = 1_797;

export interface DemoTarget {
  readonly s3: S3Client;
  readonly bucket: string;
  readonly projectFolder: string;
}

/** No such image exists: local hosts run on this machine's own Python. */
const IMAGE = 'ami-00000000000000000';

/** The declaration as it goes into the bucket. */
export async function demoDeclaration(
  projectFolder: string,
  vpc: DefaultVpc,
  launcher: DeclaredLauncher = DEFAULT_LAUNCHER,
): Promise<string> {
  const text = await readFile(join(projectFolder, 'cli/demo/digits.yaml'), 'utf8');
  const declaration: unknown = parse(text);
  if (typeof declaration !== 'object' || declaration === null)
    throw new Error('cli/demo/digits.yaml is not a mapping');
  const compute: unknown = 'compute' in declaration ? declaration.compute : {};
  const where = launcher === DEFAULT_LAUNCHER ? {} : { launcher, ec2: { image: IMAGE } };
  return stringify({ ...declaration, compute: { ...(compute as object), vpc, ...where } });
}

/** Puts the recipe under the pipeline's source prefix. */
export async function uploadSource({ s3, bucket, projectFolder }: DemoTarget): Promise<void> {
  const folder = join(projectFolder, 'training/recipes/ddp');
  for (const name of await filesBelow(folder)) {
    const Body = await readFile(join(folder, name));
    await s3.send(
      new PutObjectCommand({ Bucket: bucket, Key: bucketKeys.source(DEMO_PIPELINE) + name, Body }),
    );
  }
}

/**
 * Drops every image as a file of its own, as a camera or a labelling tool would.
 * @param onUploaded called with the number of images that are there
 */
export async function dropDigits(
  { s3, bucket }: DemoTarget,
  onUploaded: (count: number) => void,
): Promise<void> {
  let count = 0;
  const images = digitImages()[Symbol.asyncIterator]();
  const worker = async () => {
    for (let next = await images.next(); !next.done; next = await images.next()) {
      const { key, bytes } = next.value;
      await s3.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: bucketKeys.incoming(DEMO_PIPELINE) + key,
          Body: bytes,
          ContentType: 'image/png',
        }),
      );
      count += 1;
      onUploaded(count);
    }
  };
  await Promise.all(Array.from({ length: UPLOADS }, worker));
  // A file that is no image, as real drops have them: it is to be reported as rejected, and the run to go on.
  await s3.send(
    new PutObjectCommand({
      Bucket: bucket,
      Key: `${bucketKeys.incoming(DEMO_PIPELINE)}notes.txt`,
      Body: 'not an image\n',
    }),
  );
}

/** Whether the drop was finished by an earlier start: the last thing that it writes is there. */
export async function isDropped({ s3, bucket }: DemoTarget): Promise<boolean> {
  try {
    await s3.send(
      new HeadObjectCommand({ Bucket: bucket, Key: `${bucketKeys.incoming(DEMO_PIPELINE)}notes.txt` }),
    );
    return true;
  } catch (error: unknown) {
    if (error instanceof Error && error.name === 'NotFound') return false;
    throw error;
  }
}
