/**
 * How shards reach a host: disks, downloads and input modes.
 *
 * Out: seconds and bytes, or why it is too slow. Called by the launchers, placement and attempts.
 */
export { type Disk, diskBytesPerSecond, diskOf, hostDownload } from './launchers/disk.ts';
export {
  bytesPerHost,
  type DatasetSize,
  type Download,
  type DownloadQuestion,
  datasetSizeOf,
  downloadOf,
  FASTER_DOWNLOAD,
  whyTooLate,
} from './launchers/download.ts';
export { chooseInput, type InputChoice, type InputMode } from './launchers/input-mode.ts';
