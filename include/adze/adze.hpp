/**
 * @file adze.hpp
 * adze from C++17: errors as exceptions, and objects that end by themselves (RAII).
 *
 *     adze::throw_errors();
 *     adze::Module net(adz_linear_new(4, 1, nullptr));
 *     adze::Optimizer adam(adz_adam_new(adz_module_parameters(net), 1e-2, nullptr));
 *     adze::Tensor best; // lives longer than the scopes
 *     for (int i = 0; i < 100; ++i) {
 *         adze::Scope scope; // ends the tensors of this turn
 *         adz_optimizer_zero_grad(adam);
 *         adz_tensor *loss = adz_mse_loss(adz_module_forward(net, x), y, ADZ_REDUCE_MEAN);
 *         adz_backward(loss);
 *         adz_optimizer_step(adam);
 *         best = loss;
 *     }
 *
 * The functions are those of the C headers, which take these objects as they take pointers.
 */
#ifndef ADZE_ADZE_HPP
#define ADZE_ADZE_HPP

#include <stdexcept>
#include <utility>

#include "adze/adze.h"

namespace adze
{

/** A call of adze that failed. The message names the call, the values and the way out. */
class Error : public std::runtime_error
{
  public:
    Error(adz_status status, const char *message) : std::runtime_error(message), status_(status)
    {
    }
    adz_status status() const noexcept
    {
        return status_;
    }

  private:
    adz_status status_;
};

/** Makes every call that fails throw an Error. The error is then no longer recorded, so the calls
 * after a catch go on. It belongs to the context, as adz_on_error does, which it calls. */
inline void throw_errors()
{
    adz_on_error(
        [](adz_status status, const char *message, void *) {
            const Error error(status, message);
            adz_error_clear();
            throw error;
        },
        nullptr);
}

/** Throws the recorded error unless `result` is a pointer to something. It serves programs that do
 * not call throw_errors, and constructors. */
template <typename T> T *check(T *result)
{
    if (result == nullptr) {
        const Error error(adz_error_code(), adz_error_message());
        adz_error_clear();
        throw error;
    }
    return result;
}

/** An object of adze with one owner, which ends it. */
template <typename T, void (*End)(T **)> class Owned
{
  public:
    Owned() = default;
    /** Takes over what a function of adze has made. Throws if that is NULL. */
    explicit Owned(T *made) : object_(check(made))
    {
    }
    Owned(Owned &&other) noexcept : object_(other.release())
    {
    }
    Owned &operator=(Owned &&other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Owned()
    {
        End(&object_);
    }
    operator T *() const noexcept
    {
        return object_;
    }
    /** Hands the object to a function that takes it over, such as adz_sequential_append. */
    T *release() noexcept
    {
        return std::exchange(object_, nullptr);
    }

  private:
    T *object_ = nullptr;
};

using Context = Owned<adz_context, adz_context_free>;
using Csv = Owned<adz_csv, adz_csv_free>;
using Dataset = Owned<adz_dataset, adz_dataset_release>;
using Generator = Owned<adz_generator, adz_generator_free>;
using Loader = Owned<adz_loader, adz_loader_free>;
using Module = Owned<adz_module, adz_module_release>;
using Optimizer = Owned<adz_optimizer, adz_optimizer_release>;
using Plan = Owned<adz_plan, adz_plan_free>;
using Safetensors = Owned<adz_safetensors, adz_safetensors_free>;
using Scheduler = Owned<adz_scheduler, adz_scheduler_release>;
using State = Owned<adz_state_dict, adz_state_dict_free>;
using Tokenizer = Owned<adz_tokenizer, adz_tokenizer_free>;
using Values = Owned<adz_values, adz_values_free>;

/** A reference to a tensor, which keeps it alive beyond its scope (adz_keep). Copies share the
 * tensor. */
class Tensor
{
  public:
    Tensor() = default;
    Tensor(adz_tensor *tensor) : tensor_(adz_keep(check(tensor)))
    {
    }
    Tensor(const Tensor &other) : tensor_(adz_keep(other.tensor_))
    {
    }
    Tensor(Tensor &&other) noexcept : tensor_(std::exchange(other.tensor_, nullptr))
    {
    }
    Tensor &operator=(Tensor other) noexcept
    {
        std::swap(tensor_, other.tensor_);
        return *this;
    }
    ~Tensor()
    {
        if (tensor_ != nullptr) {
            (void)adz_release(&tensor_);
        }
    }
    operator adz_tensor *() const noexcept
    {
        return tensor_;
    }

  private:
    adz_tensor *tensor_ = nullptr;
};

/** Ends the tensors that were made in its block, except those that a Tensor keeps. */
class Scope
{
  public:
    Scope() : scope_(check(adz_scope_open()))
    {
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    ~Scope()
    {
        (void)adz_scope_close(scope_);
    }

  private:
    adz_scope *scope_;
};

/** Records nothing for gradients in its block. */
class NoGrad
{
  public:
    NoGrad() noexcept : before_(adz_set_grad_enabled(false))
    {
    }
    NoGrad(const NoGrad &) = delete;
    NoGrad &operator=(const NoGrad &) = delete;
    ~NoGrad()
    {
        adz_set_grad_enabled(before_);
    }

  private:
    bool before_;
};

} // namespace adze

#endif
