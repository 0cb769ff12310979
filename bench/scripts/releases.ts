/** The packages whose scripts are tried, pinned by version and by the hash of the source archive. */
import type { Release } from './script.ts';

export const AVALANCHE: Release = {
  package: 'avalanche-lib',
  version: '0.6.0',
  sha256: '8d0886e76dbc2a769aa581aa879c711fcf7fa069291bb9986dffdd5d07f91d4a',
};
export const BACKPACK: Release = {
  package: 'backpack-for-pytorch',
  version: '1.7.1',
  sha256: 'edfe332e4b06a69073a6d857c5fd08d286c020be4d411f5c50a729f26f62a30d',
};
export const BAYESIAN_TORCH: Release = {
  package: 'bayesian-torch',
  version: '0.5.0',
  sha256: 'd7f9f8e46cdd274a669cd832c297b61a864d1d4bebc749b1dae5a13e5a7741d5',
};
export const CLEANRL: Release = {
  package: 'cleanrl',
  version: '1.2.0',
  sha256: '22c43c71f06da02ade7bb2e90c4820548696d3816d15f4cf0dcb266cf7671f72',
};
export const CURVLINOPS: Release = {
  package: 'curvlinops-for-pytorch',
  version: '3.0.1',
  sha256: '916dd1f1a145d2fed062fcbbcc860561164bbe28b3e02174f8c7d78a006f54a7',
};
export const DEEPXDE: Release = {
  package: 'deepxde',
  version: '1.15.0',
  sha256: '2c0e8ad01b612b9c03d53786ed49010cec39453699a5e0f802d7a021d98441d4',
};
export const IGNITE: Release = {
  package: 'pytorch-ignite',
  version: '0.5.5',
  sha256: '2c14de75c939a3cc06d2e7de00b1e0a261917ef9bd874dac2e69d789dfa9cc64',
};
export const NEUROMANCER: Release = {
  package: 'neuromancer',
  version: '1.5.6',
  sha256: '2715b34eb7861f5abce1a8546f5a1b5af67f467aa13e5fed209a051a6dc541eb',
};
export const OPACUS: Release = {
  package: 'opacus',
  version: '1.6.0',
  sha256: '20d77252c1e8528cd5826fbaba345cd39ed5c3edb841707eafb6403fe276140a',
};
export const POUTYNE: Release = {
  package: 'poutyne',
  version: '1.19.0',
  sha256: '6046a236a5b181ec89979606fb94abe3d420a55109c8b9b678868efbc43e1b37',
};
export const PYKEEN: Release = {
  package: 'pykeen',
  version: '1.11.1',
  sha256: '702cb807c354a0d2fce0f0593db46e1fe15fba2a37e92bbb18cd1b9d0a85fe13',
};
export const SCHEDULEFREE: Release = {
  package: 'schedulefree',
  version: '1.4.1',
  sha256: '69ef25601d1fc0d8dd00cb36f9af78833f88b7846f1bb6ddecc9f144f3e9f7cb',
};
export const SPIKINGJELLY: Release = {
  package: 'spikingjelly',
  version: '2.0.0',
  sha256: 'f9b9940c3675f9e7bf10484d37ecb27367aba8379233dc8c6e4d590fafac62ae',
};
export const TORCH_OPTIMIZER: Release = {
  package: 'torch-optimizer',
  version: '0.3.0',
  sha256: 'b2180629df9d6cd7a2aeabe71fa4a872bba938e8e275965092568cd9931b924c',
};
