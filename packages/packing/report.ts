/**
 * What a dataset contains, for a person: the quality report, samples to look at, and what differs between versions.
 *
 * Called by attempts and `tidewheel data`.
 */

export { contactSheet, textOf } from './quality/contact-sheet.ts';
export { type QualityDeps, writeQualityReport } from './quality/quality-report.ts';
export type { QualityReport } from './quality/report-document.ts';
export { asNamedTexts, notTrainedOnTexts } from './quality/unexpected.ts';
export {
  readSampleMember,
  type StoredSample,
  spreadSamples,
  storedSamples,
} from './versions/read-samples.ts';
export { compareContents, type HeldObject, versionContents } from './versions/version-contents.ts';
