// adze.hpp: objects end by themselves, also when an exception passes, and errors are exceptions.
// Prints what is wrong.
#include <adze/adze.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace
{

int wrong = 0;

void expect(bool right, const char *what)
{
    if (!right) {
        std::printf("wrong: %s\n", what);
        ++wrong;
    }
}

adz_memory_info memory()
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info;
}

adze::Module network()
{
    std::vector<adz_module *> layers = { adz_linear_new(4, 8, nullptr), adz_tanh_new() };
    adze::Module net(adz_sequential_new(layers.data(), layers.size()));
    adze::Module last(adz_linear_new(8, 1, nullptr));
    adz_sequential_append(net, last.release());
    expect(last == nullptr, "a module that was handed over has left its owner");
    return net;
}

void training()
{
    adz_manual_seed(1);
    adze::Scope outer;
    adze::Module net = network();
    adze::Optimizer adam(adz_adam_new(adz_module_parameters(net), 1e-2, nullptr));
    adze::Tensor x = adz_randn(ADZ_SHAPE(64, 4), ADZ_F32), y, first, last;
    y = adz_sum(x, ADZ_DIMS(1), ADZ_KEEPDIM);
    const auto before = memory().live_tensors;
    for (int i = 0; i < 300; ++i) {
        adze::Scope scope;
        adz_optimizer_zero_grad(adam);
        adz_tensor *loss = adz_mse_loss(adz_module_forward(net, x), y, ADZ_REDUCE_MEAN);
        adz_backward(loss);
        adz_optimizer_step(adam);
        last = adz_detach(loss);
        if (i == 0) {
            first = last;
        }
        if (i == 10) {
            expect(memory().live_tensors - before < 100, "a scope ends the tensors of a turn");
        }
    }
    expect(adz_item(last) < adz_item(first) / 50, "the network learns");
}

void references()
{
    adze::Scope outer;
    adze::Tensor a;
    {
        adze::Scope scope;
        a = adz_full(ADZ_SHAPE(3), 2, ADZ_F32);
    }
    adze::Tensor b = a, c = std::move(a);
    expect(a == nullptr && b == c, "a copy shares the tensor, and a move takes it");
    a = b;
    b = adze::Tensor();
    adze::Tensor &same = c;
    c = same;
    expect(adz_tensor_numel(a) == 3 && adz_item(adz_sum(c, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 6,
        "a kept tensor outlives its scope");
    {
        adze::NoGrad off;
        expect(!adz_is_grad_enabled(), "NoGrad turns gradients off");
    }
    expect(adz_is_grad_enabled(), "and on again");
}

template <typename F> void expect_error(F call, adz_status status, const std::string &part)
{
    try {
        call();
        expect(false, part.c_str());
    } catch (const adze::Error &error) {
        expect(error.status() == status, "the status of an Error");
        expect(std::string(error.what()).find(part) != std::string::npos, error.what());
    }
    expect(adz_error_code() == ADZ_OK, "an Error that was thrown is no longer recorded");
}

void errors()
{
    adze::Scope scope;
    adze::Module net = network();
    adze::Tensor wide = adz_ones(ADZ_SHAPE(2, 5), ADZ_F32);
    for (int i = 0; i < 2; ++i) {
        expect_error(
            [&] {
                adze::Scope inner;
                adze::NoGrad off;
                adz_module_forward(net, wide);
            },
            ADZ_ERR_SHAPE, "0: linear: ");
        expect(adz_is_grad_enabled(), "gradients are on after an exception");
        expect_error(
            [] { adze::Module(adz_linear_new(-1, 2, nullptr)); }, ADZ_ERR_ARGUMENT, "linear");
        expect_error([] { adze::Safetensors(adz_safetensors_load("no such file", nullptr)); },
            ADZ_ERR_IO, "no such file");
        adz_module_forward(net, adz_ones(ADZ_SHAPE(2, 4), ADZ_F32)); // the calls after it go on
    }
}

// Without throw_errors, constructors throw alone.
void checks()
{
    adz_on_error(nullptr, nullptr);
    adze::Scope scope;
    expect_error([] { adze::Module(adz_linear_new(-1, 2, nullptr)); }, ADZ_ERR_ARGUMENT, "linear");
    expect_error([] { adze::Tensor(adz_ones(ADZ_SHAPE(-1), ADZ_F32)); }, ADZ_ERR_SHAPE, "ones");
}

} // namespace

int main()
{
    adze::throw_errors();
    const auto before = memory().live_tensors;
    training();
    references();
    errors();
    checks();
    expect(memory().live_tensors == before, "no tensor stays");
    return wrong != 0;
}
