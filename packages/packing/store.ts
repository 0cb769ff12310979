/**
 * The port to the object store of large data, and helpers over it.
 *
 * Errors: UnreadableBlobError; every other failure of S3 is TransientError or typed by its adapter. Called by the adapters, the
 * service and `tidewheel data`.
 */
export {
  type BlobReader,
  type BlobStore,
  type CopiedPart,
  type GetOptions,
  type GetResult,
  type HeadResult,
  hasSum,
  joinChunks,
  type KeptSums,
  type KeyFailure,
  type ListedBlob,
  type ListOptions,
  type ListPage,
  listPages,
  type OpenUpload,
  type PartSource,
  type PutOptions,
  type PutResult,
  readText,
  SUM_KINDS,
  type SumKind,
  UnreadableBlobError,
  type Upload,
  type UploadedPart,
  type WholeCheck,
} from './documents/blob-store.ts';
