/**
 * CRC-64/NVME, the checksum that S3 keeps of every object for which nobody asked another:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html
 * JavaScript has no 64-bit integers worth the name in a loop, so the loop (slicing by eight) is 200 bytes of WebAssembly,
 * put together below.
 */

/** 0xad93d23594c93659, bit-reflected. */
const POLYNOMIAL = 0x9a6c9329ac4bc9b5n;
const TABLE_BYTES = 2_048;
/** Eight tables, then the window through which data is read. */
const WINDOW_START = 8 * TABLE_BYTES;
const WINDOW_BYTES = 64 * 1024;
const ALL_ONES = 0xffff_ffff_ffff_ffffn;

/* One name an opcode: https://webassembly.github.io/spec/core/appendix/index-instructions.html */
const [P, N, C, X, E] = [0, 1, 2, 3, 4];
const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const AND_32 = 0x71;
const ADD_32 = 0x6a;
const XOR_64 = 0x85;
const SHIFT_RIGHT_64 = 0x88;

/** Signed LEB128. */
function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; ) {
    const byte = left & 0x7f;
    left >>= 7;
    const last = (left === 0 && (byte & 0x40) === 0) || (left === -1 && (byte & 0x40) !== 0);
    bytes.push(last ? byte : byte | 0x80);
    if (last) return bytes;
  }
}

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left >>>= 7) {
    if (left < 0x80) return [...bytes, left];
    bytes.push((left & 0x7f) | 0x80);
  }
}

const i32 = (value: number): number[] => [0x41, ...signed(value)];
const i64 = (value: number): number[] => [0x42, ...signed(value)];
/** Entry of a table, its index on the stack as i64: the low byte counts. */
const lookUp = (table: number): number[] => [
  0xa7,
  ...i32(255),
  AND_32,
  ...i32(3),
  0x74,
  0x29,
  3,
  ...unsigned(table * TABLE_BYTES),
];
const advance = (bytes: number): number[] => [...get(P), ...i32(bytes), ADD_32, ...set(P)];
/** While P is below E. */
const loop = (body: readonly number[]): number[] => [
  0x02,
  0x40,
  0x03,
  0x40,
  ...get(P),
  ...get(E),
  0x4f,
  0x0d,
  1,
  ...body,
  0x0c,
  0,
  0x0b,
  0x0b,
];

const EIGHT_BYTES = [
  ...get(P),
  0x29,
  0,
  0,
  ...get(C),
  XOR_64,
  ...set(X),
  ...Array.from({ length: 8 }, (_, byte) => [
    ...get(X),
    ...i64(8 * byte),
    SHIFT_RIGHT_64,
    ...lookUp(7 - byte),
    ...(byte > 0 ? [XOR_64] : []),
  ]).flat(),
  ...set(C),
  ...advance(8),
];
const ONE_BYTE = [
  ...get(C),
  ...get(P),
  0x31,
  0,
  0,
  XOR_64,
  ...lookUp(0),
  ...get(C),
  ...i64(8),
  SHIFT_RIGHT_64,
  XOR_64,
  ...set(C),
  ...advance(1),
];
const FUNCTION = [
  2,
  1,
  0x7e,
  1,
  0x7f,
  ...get(P),
  ...get(N),
  ...i32(-8),
  AND_32,
  ADD_32,
  ...set(E),
  ...loop(EIGHT_BYTES),
  ...get(E),
  ...get(N),
  ...i32(7),
  AND_32,
  ADD_32,
  ...set(E),
  ...loop(ONE_BYTE),
  ...get(C),
  0x0b,
];

const section = (id: number, content: readonly number[]): number[] => [
  id,
  ...unsigned(content.length),
  ...content,
];
const named = (text: string): number[] => [text.length, ...Buffer.from(text)];
const MODULE = new Uint8Array([
  0,
  0x61,
  0x73,
  0x6d,
  1,
  0,
  0,
  0,
  ...section(1, [1, 0x60, 3, 0x7f, 0x7f, 0x7e, 1, 0x7e]),
  ...section(3, [1, 0]),
  ...section(5, [1, 0, 2]),
  ...section(7, [2, ...named('m'), 2, 0, ...named('c'), 0, 0]),
  ...section(10, [1, ...unsigned(FUNCTION.length), ...FUNCTION]),
]);

function fillTables(memory: DataView): void {
  const first: bigint[] = [];
  for (let byte = 0; byte < 256; byte += 1) {
    let value = BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1)
      value = (value & 1n) === 0n ? value >> 1n : (value >> 1n) ^ POLYNOMIAL;
    first.push(value);
  }
  for (let byte = 0; byte < 256; byte += 1) {
    let value = first[byte] ?? 0n;
    for (let table = 0; table < 8; table += 1) {
      memory.setBigUint64(table * TABLE_BYTES + byte * 8, value, true);
      value = (value >> 8n) ^ (first[Number(value & 255n)] ?? 0n);
    }
  }
}

type Crc = (start: number, length: number, crc: bigint) => bigint;

/** What is used of the engine's own WebAssembly, whose types come only with a browser's. */
interface Engine {
  readonly WebAssembly: {
    readonly Module: new (bytes: Uint8Array) => object;
    readonly Instance: new (
      module: object,
    ) => { readonly exports: { readonly m: { readonly buffer: ArrayBuffer }; readonly c: Crc } };
  };
}

function instantiate(): { window: Uint8Array; crc: Crc } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the module above exports just this
  const { WebAssembly: wasm } = globalThis as unknown as Engine;
  const { m, c } = new wasm.Instance(new wasm.Module(MODULE)).exports;
  fillTables(new DataView(m.buffer));
  return { window: new Uint8Array(m.buffer, WINDOW_START, WINDOW_BYTES), crc: c };
}

let instance: ReturnType<typeof instantiate> | undefined;

/** The checksum as S3's `x-amz-checksum-crc64nvme` holds it. */
export function crc64NvmeBase64(chunks: readonly Uint8Array[]): string {
  instance ??= instantiate();
  const { window, crc } = instance;
  let value = ALL_ONES;
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += WINDOW_BYTES) {
      const piece = chunk.subarray(at, at + WINDOW_BYTES);
      window.set(piece);
      value = crc(WINDOW_START, piece.length, value);
    }
  }
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt.asUintN(64, value) ^ ALL_ONES);
  return bytes.toString('base64');
}
