/**
 * POSIX ustar headers. The same name and size give the same bytes: mtime 0, owner 0, mode 0444. A PAX header precedes a
 * name that ustar cannot hold (over 100 bytes without a fitting slash, or not ASCII) and a size of 8 GiB or more.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html
 */
export const BLOCK = 512;
const USTAR_SIZE_LIMIT = 8 * 1024 ** 3;

/** The end of an archive. */
export const TRAILER = new Uint8Array(2 * BLOCK);

/** Zeros after `size` bytes of data. */
export const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

interface UstarName {
  readonly name: string;
  readonly prefix: string;
}

/** Splits a path into name (100 bytes) and prefix (155 bytes); undefined if it does not fit. */
function splitPath(path: string): UstarName | undefined {
  if (!/^[\x20-\x7e]*$/.test(path)) return undefined;
  if (path.length <= 100) return { name: path, prefix: '' };
  const slash = path.indexOf('/', path.length - 101);
  if (slash <= 0 || slash > 155 || slash === path.length - 1) return undefined;
  return { name: path.slice(slash + 1), prefix: path.slice(0, slash) };
}

const TEMPLATE = ((): Buffer => {
  const block = Buffer.alloc(BLOCK);
  block.write('0000444\0', 100, 'latin1');
  block.write('0000000\0', 108, 'latin1');
  block.write('0000000\0', 116, 'latin1');
  block.write('00000000000\0', 136, 'latin1');
  block.write('        ', 148, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  return block;
})();
const TEMPLATE_SUM = TEMPLATE.reduce((sum, byte) => sum + byte, 0);

/** Writes every byte of one header block. */
function writeBlock(
  target: Buffer,
  at: number,
  fields: { path: UstarName; size: number; type: string },
): void {
  TEMPLATE.copy(target, at);
  target.write(fields.path.name, at, 'latin1');
  target.write(fields.size.toString(8).padStart(11, '0'), at + 124, 'latin1');
  target[at + 156] = fields.type.charCodeAt(0);
  if (fields.path.prefix !== '') target.write(fields.path.prefix, at + 345, 'latin1');
  let sum = TEMPLATE_SUM;
  const end = at + fields.path.name.length;
  for (let index = at; index < end; index += 1) sum += target[index] ?? 0;
  for (let index = at + 124; index < at + 136; index += 1) sum += target[index] ?? 0;
  sum += target[at + 156] ?? 0;
  for (let index = at + 345; index < at + 345 + fields.path.prefix.length; index += 1)
    sum += target[index] ?? 0;
  target.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
}

/** `<length> <key>=<value>\n`. The length counts its own digits too. */
function paxRecord(key: string, value: string): string {
  const body = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(body);
  let length = bytes + String(bytes).length;
  length = bytes + String(length).length;
  return `${length}${body}`;
}

/** Header blocks of one regular file: 512 bytes, or at least 1,536 with PAX. */
export function tarHeader(path: string, size: number): Buffer {
  const plain = splitPath(path);
  if (plain !== undefined && size < USTAR_SIZE_LIMIT) {
    // From Node's pool: allocating a separate buffer takes four times as long as everything else here.
    const block = Buffer.allocUnsafe(BLOCK);
    writeBlock(block, 0, { path: plain, size, type: '0' });
    return block;
  }
  const records =
    (plain === undefined ? paxRecord('path', path) : '') +
    (size < USTAR_SIZE_LIMIT ? '' : paxRecord('size', String(size)));
  const data = Buffer.from(records, 'utf8');
  const header = Buffer.alloc(BLOCK + data.length + paddingOf(data.length) + BLOCK);
  writeBlock(header, 0, { path: { name: 'PaxHeader/tidewheel', prefix: '' }, size: data.length, type: 'x' });
  data.copy(header, BLOCK);
  const fallback = { name: path.replace(/[^\x20-\x7e]/g, '_').slice(-100), prefix: '' };
  writeBlock(header, header.length - BLOCK, {
    path: plain ?? fallback,
    size: size < USTAR_SIZE_LIMIT ? size : 0,
    type: '0',
  });
  return header;
}

/** Bytes of a member of this name and size in an archive. */
export function tarMemberBytes(path: string, size: number): number {
  const isPlain = size < USTAR_SIZE_LIMIT && splitPath(path) !== undefined;
  return (isPlain ? BLOCK : tarHeader(path, size).length) + size + paddingOf(size);
}
