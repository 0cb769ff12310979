/**
 * The port to what decodes and resizes images.
 *
 * Called by its adapters in functions/aws/images.
 */
export {
  DEFAULT_QUALITY,
  IMAGE_ENGINE,
  type ImageEngine,
  type PreparedImage,
  staysInBounds,
  WITH_FORMATS,
} from './documents/image-preparation.ts';
export { imageLook } from './media/image-look.ts';
