/**
 * What lies in the bucket: generations, versions, manifests and their documents.
 *
 * Errors: DocumentError and ManifestError name the key and the remedy. Called by attempts, the API and `tidewheel data`.
 */

export { readPlan } from './documents/committed-plan.ts';
export {
  contentOf,
  DOCUMENT_VERSION,
  DocumentError,
  type Dots,
  itemSchema,
  type MemberLine,
  parseArrival,
  planSchema,
  readDocument,
} from './documents/documents.ts';
export {
  holdsNothing,
  type Manifest,
  manifestSchema,
  type SealedLine,
  sealedLine,
} from './documents/manifest.ts';
export { packingKeys } from './documents/packing-keys.ts';
export {
  listGenerations,
  ManifestError,
  manifestsOf,
  readSealedManifest,
  sealedGenerations,
} from './documents/sealed-arrivals.ts';
export { inOrder, memberLines, sealedLines } from './documents/sealed-lines.ts';
export {
  addSealed,
  batchOf,
  blobVersions,
  type DatasetVersion,
  newestVersion,
  objectVersions,
  readVersion,
  type VersionStore,
  versionUpTo,
  waitingGenerations,
} from './documents/versions.ts';
export { headerDifference, shownHeader } from './formats/csv-header.ts';
export { sealedFates } from './plan/new-arrivals.ts';
export { MOST_CHANNEL_FILES } from './plan/plan-files.ts';
export { isReleased, reportedHeld } from './quality/held.ts';
export { copyFile, type SealedFile } from './seal/kept-files.ts';
