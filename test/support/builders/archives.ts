/** Archives as people bring them, and as an attacker would. */

import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { unpackArchive } from '@tidewheel/packing/bundles.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { incoming, PIPELINE } from './packing.ts';

export interface ZippedFile {
  readonly body?: string | Uint8Array;
  /** 0: stored, 8: deflated. */
  readonly method?: number;
  readonly isEncrypted?: boolean;
  /** As Unix has it, such as that of a link. */
  readonly mode?: number;
  /** What the headers say, where they lie. */
  readonly size?: number;
}

/** https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT @param counted files that its end tells */
export function zipFile(
  files: readonly (readonly [name: string, file: ZippedFile | string | Uint8Array])[],
  counted = files.length,
): Buffer {
  const parts: Buffer[] = [];
  const list: Buffer[] = [];
  let offset = 0;
  for (const [named, given] of files) {
    const file = typeof given === 'string' || given instanceof Uint8Array ? { body: given } : given;
    const { method = 8, isEncrypted = false, mode = 0o100644 } = file;
    const [name, body] = [Buffer.from(named), Buffer.from(file.body ?? '')];
    const data = method === 8 ? deflateRawSync(body) : body;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x0800 | (isEncrypted ? 1 : 0), 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(body), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(file.size ?? body.length, 18);
    common.writeUInt16LE(name.length, 22);
    const central = Buffer.alloc(14);
    central.writeUInt32LE(mode * 0x1_0000, 6);
    central.writeUInt32LE(offset, 10);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, data]);
    list.push(Buffer.from('PK\x01\x02'), Buffer.of(20, 3), common, central, name);
    parts.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(list);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(counted, 8);
  end.writeUInt16LE(counted, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, directory, end]);
}

/** Its kind by POSIX: 1 and 2 are links, 3 a device, 5 a folder. */
interface TarredEntry {
  readonly kind: '0' | '1' | '2' | '3' | '5';
  /** What its header says. */
  readonly size?: number;
}
type TarredFile = string | Uint8Array | TarredEntry;

const BLOCK = 512;

/** https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html (ustar) */
export function tarFile(files: readonly (readonly [name: string, file: TarredFile])[]): Buffer {
  const parts = files.flatMap(([name, file]) => {
    const isBody = typeof file === 'string' || file instanceof Uint8Array;
    const body = Buffer.from(isBody ? file : '');
    const { kind, size = body.length } = isBody ? { kind: '0' } : file;
    const header = Buffer.alloc(BLOCK);
    header.write(name);
    header.write('0000644', 100);
    header.write(size.toString(8).padStart(11, '0'), 124);
    header.write('        ', 148);
    header.write(kind, 156);
    header.write('elsewhere', 157);
    header.write('ustar\u000000', 257);
    const sum = header.reduce((all, byte) => all + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return [header, body, Buffer.alloc(-body.length & (BLOCK - 1))];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

export const tgzFile = (files: Parameters<typeof tarFile>[0]): Buffer => gzipSync(tarFile(files));

/** As the function does before it closes a batch. */
export async function unpackAll(store: BlobStore): Promise<void> {
  const { objects } = await store.listPage(incoming);
  for (const archive of objects)
    if (/\.(zip|tgz)$/.test(archive.key))
      await unpackArchive({ store, now: () => 0 }, { pipeline: PIPELINE, apart: [], shuffle: true }, archive);
}
