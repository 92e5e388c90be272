// Certificates and signing requests with RSA keys of any size, which fleetperf
// itself does not make.

#ifndef FLEETPERF_TESTS_SUPPORT_RSA_KEYS_H_
#define FLEETPERF_TESTS_SUPPORT_RSA_KEYS_H_

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "base/tls/certificates.h"

namespace fleetperf::testing {

// A new RSA key.
class RsaKey {
 public:
  explicit RsaKey(unsigned bits) : key_(EVP_RSA_gen(bits), &EVP_PKEY_free) {}

  // Returns the key, and a certificate that it has signed for itself, valid for
  // a day.
  KeyPair SelfSigned() const {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(),
                                                                  &X509_free);
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24 * 3600);
    X509_set_pubkey(certificate.get(), key_.get());
    X509_sign(certificate.get(), key_.get(), EVP_sha256());
    return {Pem([&](BIO* to) { PEM_write_bio_X509(to, certificate.get()); }),
            Pem([&](BIO* to) {
              PEM_write_bio_PKCS8PrivateKey(to, key_.get(), nullptr, nullptr, 0,
                                            nullptr, nullptr);
            })};
  }

  // Returns a signing request for the key.
  std::string SigningRequest() const {
    const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> request(
        X509_REQ_new(), &X509_REQ_free);
    X509_REQ_set_pubkey(request.get(), key_.get());
    X509_REQ_sign(request.get(), key_.get(), EVP_sha256());
    return Pem([&](BIO* to) { PEM_write_bio_X509_REQ(to, request.get()); });
  }

 private:
  template <typename Write>
  static std::string Pem(Write write) {
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> memory(
        BIO_new(BIO_s_mem()), &BIO_free_all);
    write(memory.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &data);
    return std::string(data, static_cast<size_t>(size));
  }

  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_RSA_KEYS_H_
