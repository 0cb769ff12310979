/**
 * Checksums that S3 knows, as running sums.
 *
 * Called by the adapter of the store and by uploads.
 */

export { crc32c, maskedCrc32c } from './formats/crc32c.ts';
export { Crc64Nvme } from './formats/crc64-nvme.ts';
export { crc32ToBase64, keptSum, startSum, sumOf } from './formats/running-sum.ts';
