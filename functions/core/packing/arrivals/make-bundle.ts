/** Makes a bundle of small files. The same files in the same order make the same bundle, under the same name. */
import { hash } from 'node:crypto';
import { compareKeys } from '../model/order.ts';
import { bundleIndexBody, type IndexedMember } from './bundle-index.ts';
import { md5Of } from './bundle-place.ts';

export interface BundledFile {
  /** Key below incoming/. */
  readonly key: string;
  readonly body: Uint8Array;
}

export interface MadeBundle {
  readonly id: string;
  readonly data: Buffer;
  /** To be written after the data. */
  readonly index: Buffer;
}

export function makeBundle(files: readonly BundledFile[]): MadeBundle {
  let bytes = 0;
  const members = files.map(({ key, body }): IndexedMember => {
    const offset = bytes;
    bytes += body.length;
    return [key, offset, body.length, md5Of(body)];
  });
  members.sort(([a], [b]) => compareKeys(a, b));
  return {
    id: hash('sha256', JSON.stringify(members)).slice(0, 32),
    data: Buffer.concat(
      files.map(({ body }) => body),
      bytes,
    ),
    index: bundleIndexBody(members, bytes),
  };
}
